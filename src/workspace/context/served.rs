//! What tool servers give to a prompt, as a part of its context.
//!
//! Owns how long they are waited for. What a prompt merely names is left out when it is late; what it begins with it cannot go
//! without.

use std::time::Duration;

use tokio::time::timeout;

use crate::app::inbox::Answer;
use crate::app::ports::{McpFetched, McpWanted};
use crate::domain::context::item::{ContextItem, ContextKind, PromptContext};

/// How long servers are waited for. The user names what they have word by word, and can stop meanwhile; one that starts takes
/// some seconds.
const SERVERS_TIME: Duration = Duration::from_secs(10);

/// What they gave, and sentences about the rest.
pub(super) async fn given(served: Option<Answer<Vec<McpFetched>>>) -> PromptContext {
    let mut found = PromptContext::default();
    let Some(answer) = served else { return found };
    let fetched = match timeout(SERVERS_TIME, answer).await {
        Ok(Ok(Ok(fetched))) => fetched,
        Ok(_) | Err(_) => {
            found.failure = Some(format!(
                "A tool server did not answer within {} s, so the prompt was not sent; send it again, or without what it names there.",
                SERVERS_TIME.as_secs()
            ));
            return found;
        }
    };
    for (wanted, outcome) in fetched {
        match (wanted, outcome) {
            (McpWanted::Prompt(_), Ok(text)) => found.served = Some(text),
            (McpWanted::Prompt(_), Err(why)) => {
                found.failure = Some(format!("{why} The prompt was not sent."));
            }
            (McpWanted::Resource { server, uri }, Ok(text)) => found.items.push(ContextItem {
                kind: ContextKind::Resource,
                label: format!("{server}:{uri}"),
                uri: None,
                text: Some(text),
                is_part: true,
            }),
            (McpWanted::Resource { .. }, Err(why)) => {
                found.notes.push(format!("{why} So the prompt went without it."));
            }
        }
    }
    found
}
