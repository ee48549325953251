#!/bin/sh
# Refuses to rewrite what others have pulled. Reads the call as JSON, answers with a decision.
case "$(cat)" in
*push*--force* | *push*' -f'*)
    echo '{"decision": "deny", "reason": "Never force a push: others may have pulled it."}' ;;
*)
    echo '{"decision": "no_opinion"}' ;;
esac
