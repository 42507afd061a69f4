//! Writes the instructions that hops follow, as protocol buffers; `tests/peers/python/instruction.py`
//! reads them and has the table of their fields.

/// An instruction, encoded.
#[derive(Clone, Debug)]
pub(super) struct Instruction(pub(super) Vec<u8>);

/// How a hop calls the next agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    SendMessage,
    Streaming,
    PushNotification,
    Resubscribe,
}

impl Behaviour {
    pub(super) const ALL: [Behaviour; 4] = [
        Behaviour::SendMessage,
        Behaviour::Streaming,
        Behaviour::PushNotification,
        Behaviour::Resubscribe,
    ];
}

impl Instruction {
    /// Says this; a task that is held stays open until its caller cancels it.
    pub(super) fn say(text: &str, hold: bool) -> Instruction {
        let mut reply = bytes(1, text.as_bytes());
        reply.extend(flag(2, hold));
        Instruction(bytes(2, &reply))
    }

    /// Does these one after the other, and joins what they say.
    pub(super) fn steps(steps: &[Instruction]) -> Instruction {
        let concat = flag(2, true);
        let all = steps.iter().flat_map(|step| bytes(1, &step.0));
        Instruction(bytes(3, &all.chain(concat).collect::<Vec<_>>()))
    }

    /// Hands `inner` on to the agent at `url`; pushes go below `hooks`.
    pub(super) fn call(
        url: &str,
        transport: &str,
        how: Behaviour,
        hooks: &str,
        inner: &Instruction,
    ) -> Instruction {
        let mut call = bytes(1, transport.as_bytes());
        call.extend(bytes(2, url.as_bytes()));
        call.extend(bytes(3, &inner.0));
        call.extend(flag(4, how == Behaviour::Streaming));
        call.extend(match how {
            Behaviour::SendMessage | Behaviour::Streaming => bytes(5, &[]),
            Behaviour::PushNotification => bytes(6, &bytes(1, hooks.as_bytes())),
            Behaviour::Resubscribe => bytes(7, &[]),
        });
        Instruction(bytes(1, &call))
    }
}

/// A field of bytes, text or a message.
fn bytes(number: u8, value: &[u8]) -> Vec<u8> {
    let mut field = vec![number << 3 | 2];
    let mut length = value.len();
    while length >= 0x80 {
        field.push(u8::try_from(length & 0x7f).expect("seven bits") | 0x80);
        length >>= 7;
    }
    field.push(u8::try_from(length).expect("seven bits"));
    field.extend(value);
    field
}

/// A field that is true, or absent.
fn flag(number: u8, value: bool) -> Vec<u8> {
    if value {
        vec![number << 3, 1]
    } else {
        Vec::new()
    }
}
