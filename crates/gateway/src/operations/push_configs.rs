//! Push notifications: no agent of this version declares them (specification 3.3.4).

use nuncio_wire::{A2aError, ErrorKind};

/// The one answer to everything about push where it is off, the inline configuration too.
pub(super) fn not_supported() -> A2aError {
    A2aError::new(
        ErrorKind::PushNotificationNotSupported,
        "This agent sends no push notifications (capabilities.pushNotifications); stream or poll the task.",
    )
}
