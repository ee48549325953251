//! Our side of the protocol: what a server may ask of us, which is nothing.

use std::sync::Arc;

use rmcp::ErrorData;
// Parts of the protocol that are on their way out are refused as long as servers try them.
#[allow(deprecated)]
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ErrorCode, Implementation, ListRootsResult, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::Notify;

/// Refuses what it is asked, and notes when the server has other tools.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handler {
    /// Told when the server says that its tools have changed. Many times are as good as once.
    pub(crate) changed: Arc<Notify>,
}

fn refused(what: &str) -> ErrorData {
    let message = format!("{what} is not offered by this client");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}

#[allow(deprecated)]
impl rmcp::ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("tollgate", env!("CARGO_PKG_VERSION"));
        // The newest that is greeted in the way that every server understands.
        ClientConfig::new(ClientCapabilities::default(), us)
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_message(
        &self,
        _params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(refused("sampling"))
    }

    async fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Err(refused("listing roots"))
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Err(refused("elicitation"))
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.notify_one();
    }
}
