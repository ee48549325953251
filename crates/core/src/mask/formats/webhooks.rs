//! Addresses that are secrets themselves: everybody who knows one can write there.

use super::super::kinds::Kind;
use super::super::shape::Part::Is;
use super::super::shape::{ALNUM, DIGIT, HEX, LOWER_NUM, URL64};
use super::{UUID, behind};

pub(in super::super) const FORMATS: &[Kind] = &[
    behind(
        "Slack webhook",
        &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"],
        &[URL64.and(b"/").least(20)],
    ),
    behind(
        "Discord webhook",
        &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"],
        &[DIGIT.least(15), Is("/"), URL64.least(40)],
    ),
    behind(
        "Teams webhook",
        &[".webhook.office.com/webhookb2/", "outlook.office.com/webhook/"],
        &[URL64.and(b"@/").least(60)],
    ),
    behind("Zapier webhook", &["hooks.zapier.com/hooks/catch/"], &[ALNUM.and(b"/").least(10)]),
    behind("IFTTT webhook", &["/with/key/"], &[URL64.least(20)]),
    behind("Make webhook", &[".make.com/", ".integromat.com/"], &[LOWER_NUM.exactly(32)]),
    behind(
        "Tines webhook",
        &[".tines.com/webhook/"],
        &[ALNUM.exactly(32), Is("/"), ALNUM.exactly(32)],
    ),
    behind(
        "Lark webhook",
        &["open.feishu.cn/open-apis/bot/v2/hook/", "open.larksuite.com/open-apis/bot/v2/hook/"],
        UUID,
    ),
    behind("DingTalk webhook", &["oapi.dingtalk.com/robot/send?access_token="], &[HEX.least(60)]),
    behind("WeCom webhook", &["qyapi.weixin.qq.com/cgi-bin/webhook/send?key="], UUID),
    behind("PagerDuty webhook", &["events.pagerduty.com/integration/"], &[HEX.exactly(32)]),
    behind("Twist token", &["oauth2:"], &[HEX.exactly(40)]),
];
