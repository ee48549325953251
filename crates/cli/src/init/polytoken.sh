#!/bin/bash
# Refuses to rewrite what others have pulled. Reads the call as JSON, answers with an outcome.
case "$(cat)" in
*push*--force* | *push*' -f'*)
    echo '{"outcome": "deny", "reason": "Never force a push: others may have pulled it."}' ;;
*)
    echo '{"outcome": "allow"}' ;;
esac
