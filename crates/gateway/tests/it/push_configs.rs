//! Push configurations: made, shown, replaced, deleted and refused, in every dialect.

use serde_json::{Value, json};

use crate::rig::{ECHO, Rig, message, over_bindings};

const HOOK: &str = "https://example.com/hook";
const METHODS: [&str; 4] = [
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
];

async fn create(rig: &Rig, params: Value) -> Value {
    rig.call(METHODS[0], params).await
}

async fn ids(rig: &Rig, task: &str) -> Vec<String> {
    let list = rig.call(METHODS[2], json!({"taskId": task})).await;
    let configs = list["result"]["configs"].as_array().unwrap();
    configs
        .iter()
        .map(|config| config["id"].as_str().unwrap().to_owned())
        .collect()
}

async fn finished_task(rig: &Rig) -> String {
    rig.send("hello").await["id"].as_str().unwrap().to_owned()
}

over_bindings! {
    async fn a_configuration_is_made_read_listed_and_deleted(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let task = finished_task(&rig).await;
        let full = json!({"taskId": task, "id": "c", "url": HOOK, "token": "hunter2",
            "authentication": {"scheme": "Bearer", "credentials": "hunter3"}});
        let made = create(&rig, full).await["result"].clone();
        let shown = json!({"taskId": task, "id": "c", "url": HOOK, "authentication": {"scheme": "Bearer"}});
        assert_eq!(made, shown, "secrets are not told again");
        let named = json!({"taskId": task, "id": "c"});
        assert_eq!(rig.call(METHODS[1], named.clone()).await["result"], shown);
        let other = create(&rig, json!({"taskId": task, "url": HOOK})).await["result"].clone();
        assert!(!other["id"].as_str().unwrap().is_empty());
        let list = rig.call(METHODS[2], json!({"taskId": task})).await;
        assert_eq!(list["result"], json!({"configs": [shown, other], "nextPageToken": ""}));
        let replaced = create(&rig, json!({"taskId": task, "id": "c", "url": "https://example.com/new"})).await;
        assert_eq!(replaced["result"]["url"], "https://example.com/new");
        let repeated = create(&rig, json!({"taskId": task, "url": HOOK})).await;
        assert_eq!(repeated["result"]["id"], other["id"], "a full repeat gives back the first");
        assert_eq!(ids(&rig, &task).await.len(), 2);
        for _ in 0..2 {
            assert_eq!(rig.call(METHODS[3], named.clone()).await["result"], json!({}));
        }
        assert_eq!(ids(&rig, &task).await, [other["id"].as_str().unwrap()]);
        assert_eq!(rig.call(METHODS[1], named).await["error"]["code"], -32001);
    }

    async fn what_is_not_there_is_not_found(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        for method in METHODS {
            let unknown = rig.call(method, json!({"taskId": "nowhere", "id": "c", "url": HOOK})).await;
            assert_eq!(unknown["error"]["code"], -32001, "{method} {unknown}");
        }
    }

    async fn old_names_get_their_own_shapes(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let task = finished_task(&rig).await;
        let call = async |version: &'static str, method: &str, params: Value| {
            let answer = rig.call_in(version, method, params).await;
            assert!(answer["error"].is_null(), "{answer}");
            answer["result"].clone()
        };
        let set = "tasks/pushNotificationConfig/set";
        let made = call("1.0", set, json!({"taskId": task, "id": "new", "url": HOOK})).await;
        assert_eq!(made, json!({"taskId": task, "id": "new", "url": HOOK}));
        let named = json!({"taskId": task, "id": "new"});
        assert_eq!(call("1.0", "tasks/pushNotificationConfig/get", named.clone()).await, made);

        let old = json!({"taskId": task, "pushNotificationConfig": {"id": "old", "url": HOOK, "token": "t",
            "authentication": {"schemes": ["Basic", "Bearer"], "credentials": "x"}}});
        let made_old = call("0.3", set, old).await;
        assert_eq!(made_old, json!({"taskId": task, "pushNotificationConfig":
            {"id": "old", "url": HOOK, "authentication": {"schemes": ["Basic", "Bearer"]}}}));
        let newest = call("0.3", "tasks/pushNotificationConfig/get", json!({"id": task})).await;
        assert_eq!(newest, made_old, "without an id the newest one is meant");
        let named_old = json!({"taskId": task, "id": "old"});
        let now = call("1.0", "tasks/pushNotificationConfig/get", named_old).await;
        assert_eq!(now["authentication"], json!({"scheme": "Basic"}), "1.0 has one scheme");
        let list = call("0.3", "tasks/pushNotificationConfig/list", json!({"id": task})).await;
        assert_eq!(list.as_array().unwrap().len(), 2, "{list}");
        let list = call("1.0", "tasks/pushNotificationConfig/list", json!({"taskId": task})).await;
        assert_eq!(list["configs"].as_array().unwrap().len(), 2, "{list}");
        let delete = "tasks/pushNotificationConfig/delete";
        let gone = call("0.3", delete, json!({"id": task, "pushNotificationConfigId": "old"})).await;
        assert_eq!(gone, Value::Null);
        assert_eq!(call("1.0", delete, named).await, json!({}));
        assert!(ids(&rig, &task).await.is_empty());
    }

    async fn lists_come_in_pages(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let task = finished_task(&rig).await;
        for number in 0..5 {
            create(&rig, json!({"taskId": task, "id": format!("c{number}"), "url": HOOK})).await;
        }
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let page = rig.call(METHODS[2], json!({"taskId": task, "pageSize": 2, "pageToken": token})).await;
            let configs = page["result"]["configs"].as_array().unwrap();
            seen.extend(configs.iter().map(|config| config["id"].as_str().unwrap().to_owned()));
            token = page["result"]["nextPageToken"].as_str().unwrap().to_owned();
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(seen, ["c0", "c1", "c2", "c3", "c4"]);
        let wrong = rig.call(METHODS[2], json!({"taskId": task, "pageToken": "x"})).await;
        assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    }

    async fn a_hostile_configuration_is_refused_when_it_is_made(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let task = finished_task(&rig).await;
        let long = "x".repeat(1 << 20);
        let mut hostile = Vec::new();
        for url in HOSTILE_URLS {
            hostile.push(json!({"url": url}));
        }
        hostile.push(json!({"url": format!("https://example.com/{long}")}));
        for bad in ["a\r\nX-Evil: 1", "a\nb", "a\0b", "é", &long] {
            hostile.push(json!({"url": HOOK, "token": bad}));
            hostile.push(json!({"url": HOOK, "authentication": {"scheme": "Bearer", "credentials": bad}}));
            hostile.push(json!({"url": HOOK, "authentication": {"scheme": bad, "credentials": "x"}}));
        }
        hostile.push(json!({"url": HOOK, "authentication": {"scheme": "Bearer x", "credentials": "y"}}));
        hostile.push(json!({"url": HOOK, "id": "a\0b"}));
        for config in hostile {
            let mut named = config.clone();
            named["taskId"] = json!(task);
            let answer = create(&rig, named).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            let mut inline = message("hello");
            inline["configuration"] = json!({"taskPushNotificationConfig": config});
            let answer = rig.call("SendMessage", inline).await;
            assert_eq!(answer["error"]["code"], -32602, "{answer}");
            assert!(!answer.to_string().contains("hunter2"), "{answer}");
        }
        assert!(ids(&rig, &task).await.is_empty());
        let tasks = rig.call("ListTasks", json!({})).await;
        assert_eq!(tasks["result"]["totalSize"], 1, "a refused send leaves no task");
    }

    async fn a_task_takes_32_and_its_caller_1000(over: Over) {
        let rig = Rig::start(over, ECHO).await;
        let mut made = 0;
        loop {
            let task = finished_task(&rig).await;
            for number in 0..32 {
                let answer = create(&rig, json!({"taskId": task, "id": format!("{number}"), "url": HOOK})).await;
                if made == 1000 {
                    assert_eq!(answer["error"]["code"], -32051, "{answer}");
                    return;
                }
                assert!(answer["error"].is_null(), "{made} {answer}");
                made += 1;
            }
            let full = create(&rig, json!({"taskId": task, "url": "https://example.com/more"})).await;
            assert_eq!(full["error"]["code"], -32051, "{full}");
        }
    }

    async fn another_callers_task_is_not_there(over: Over) {
        let config = format!("{ECHO}[security]\npeer_tokens = {{ alice = \"env:ALICE\", bob = \"env:BOB\" }}\n");
        let rig = Rig::start(over, &config).await;
        let as_ = |name: &'static str| [("authorization", if name == "alice" { "Bearer alice" } else { "Bearer bob" })];
        let sent = rig.call_as(&as_("alice"), "SendMessage", message("x")).await;
        let task = sent["result"]["task"]["id"].clone();
        let params = json!({"taskId": task, "id": "c", "url": HOOK});
        assert!(rig.call_as(&as_("alice"), METHODS[0], params.clone()).await["error"].is_null());
        for method in METHODS {
            let answer = rig.call_as(&as_("bob"), method, params.clone()).await;
            assert_eq!(answer["error"]["code"], -32001, "{method} {answer}");
        }
        let kept = rig.call_as(&as_("alice"), METHODS[1], params).await;
        assert_eq!(kept["result"]["id"], "c");
    }
}

/// Inner addresses in every spelling, and what is no address of a webhook at all.
const HOSTILE_URLS: [&str; 36] = [
    "http://127.0.0.1",
    "https://localhost",
    "https://localhost.",
    "https://LOCALHOST/",
    "https://[::1]/",
    "https://0/",
    "https://0.0.0.0/",
    "https://[::]/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://127.1/",
    "https://\u{2460}\u{2461}\u{2466}.0.0.1/",
    "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
    "https://127\u{3002}0\u{3002}0\u{3002}1/",
    "https://%6c%6fcalhost/",
    "https://local\u{ad}host/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.255.255/",
    "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data",
    "https://[::ffff:10.0.0.1]/",
    "https://[fe80::1]/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://good@127.0.0.1/",
    "https://user:hunter2@example.com/",
    "https://127.0.0.1\\@good.com/",
    "http:127.0.0.1",
    "https://127.0.\t0.1/",
    "file:///etc/passwd",
    "gopher://127.0.0.1/",
    "ftp://example.com/",
    "data:,x",
    "",
];
