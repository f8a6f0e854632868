//! One connection to a server: greeted, asked what it offers, called, given up.
//!
//! Owns the SDK's service and how long each question may take. Never starts anything again: that is `server`.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, GetPromptRequestParams, PaginatedRequestParams, ReadResourceRequestParams,
};
use rmcp::service::{RunningService, ServiceError, serve_client};
use rmcp::transport::IntoTransport;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::client::McpClient;
use super::{content, failure};
use crate::domain::mcp::{McpArgument, McpOffer, McpPrompt, McpResource, McpTool};
use crate::host::ports::ServedAnswer;

/// How long a tool may take. The user can stop the turn at any time; this is for those who went away.
const CALL: Duration = Duration::from_secs(600);

/// How long a list, a resource or a prompt may take.
const QUESTION: Duration = Duration::from_secs(20);

/// Pages of a list that are read.
const PAGES: usize = 16;

/// A connection that was greeted.
pub(super) struct McpConnection {
    name: String,
    service: RunningService<RoleClient, McpClient>,
    offer: watch::Sender<Arc<McpOffer>>,
    /// Why it is over, once it is.
    over: watch::Sender<Option<String>>,
}

impl McpConnection {
    /// Greets the server; gives the connection, and where the news comes that its lists changed.
    ///
    /// # Errors
    /// One sentence.
    pub(super) async fn open<T, E, A>(name: &str, transport: T) -> Result<(Self, mpsc::Receiver<()>), String>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let (client, news) = McpClient::new();
        let greeted = serve_client(client, transport).await;
        let service = greeted.map_err(|error| failure::of_start(name, &error))?;
        let (offer, _) = watch::channel(Arc::default());
        let (over, _) = watch::channel(None);
        let connection = Self { name: name.to_owned(), service, offer, over };
        connection.look().await?;
        Ok((connection, news))
    }

    /// What it offers, as it was looked at last.
    pub(super) fn offer(&self) -> Arc<McpOffer> {
        self.offer.borrow().clone()
    }

    /// Whether it can be used.
    pub(super) fn is_open(&self) -> bool {
        self.over.borrow().is_none() && !self.service.is_closed()
    }

    /// Waits until it is over; gives the reason.
    pub(super) async fn until_closed(&self) -> String {
        let mut over = self.over.subscribe();
        let why = over.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
        why.unwrap_or_else(|| self.closed())
    }

    fn closed(&self) -> String {
        format!("The tool server `{}` closed its connection.", self.name)
    }

    /// It is over, for this reason; the first one counts.
    pub(super) fn close(&self, why: String) {
        self.over.send_if_modified(|over| {
            let is_first = over.is_none();
            if is_first {
                *over = Some(why);
            }
            is_first
        });
        self.service.cancellation_token().cancel();
    }

    /// Looks at what it offers. What a server does not have at all it offers nothing of.
    ///
    /// # Errors
    /// One sentence, when it does not even list its tools.
    pub(super) async fn look(&self) -> Result<(), String> {
        let info = self.service.peer_info();
        let can = info.as_ref().map(|info| info.capabilities.clone()).unwrap_or_default();
        let mut offer = McpOffer::default();
        if can.tools.is_some() {
            offer.tools = self.within("the list of its tools", self.tools()).await?;
        }
        if can.prompts.is_some() {
            match self.within("the list of its prompts", self.prompts()).await {
                Ok(prompts) => offer.prompts = prompts,
                Err(why) => offer.left_out.push(why),
            }
        }
        if can.resources.is_some() {
            match self.within("the list of its resources", self.resources()).await {
                Ok(resources) => offer.resources = resources,
                Err(why) => offer.left_out.push(why),
            }
        }
        self.offer.send_replace(Arc::new(offer.bounded(&self.name)));
        Ok(())
    }

    async fn within<T>(
        &self,
        what: &str,
        asking: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, String> {
        match timeout(QUESTION, asking).await {
            Ok(answered) => answered.map_err(|error| failure::of_call(&self.name, what, &error)),
            Err(_) => Err(format!(
                "The tool server `{}` did not give {what} within {} s.",
                self.name,
                QUESTION.as_secs()
            )),
        }
    }

    async fn tools(&self) -> Result<Vec<McpTool>, ServiceError> {
        let mut found = Vec::new();
        let mut page = Page::first();
        while let Some(params) = page.next() {
            let listed = self.service.list_tools(params).await?;
            found.extend(listed.tools.into_iter().map(|tool| McpTool {
                name: tool.name.into_owned(),
                title: tool.title.or(tool.annotations.and_then(|hints| hints.title)),
                description: tool.description.map(|text| text.into_owned()).unwrap_or_default(),
                parameters: parameters(&tool.input_schema),
            }));
            page.follow(listed.next_cursor);
        }
        Ok(found)
    }

    async fn prompts(&self) -> Result<Vec<McpPrompt>, ServiceError> {
        let mut found = Vec::new();
        let mut page = Page::first();
        while let Some(params) = page.next() {
            let listed = self.service.list_prompts(params).await?;
            found.extend(listed.prompts.into_iter().map(|prompt| McpPrompt {
                name: prompt.name,
                description: prompt.description.or(prompt.title).unwrap_or_default(),
                arguments: prompt.arguments.unwrap_or_default().into_iter().map(argument).collect(),
            }));
            page.follow(listed.next_cursor);
        }
        Ok(found)
    }

    async fn resources(&self) -> Result<Vec<McpResource>, ServiceError> {
        let mut found = Vec::new();
        let mut page = Page::first();
        while let Some(params) = page.next() {
            let listed = self.service.list_resources(params).await?;
            found.extend(listed.resources.into_iter().map(|resource| McpResource {
                uri: resource.uri,
                name: resource.title.unwrap_or(resource.name),
                description: resource.description,
                mime: resource.mime_type,
            }));
            page.follow(listed.next_cursor);
        }
        Ok(found)
    }

    /// Calls a tool. Dropped, it tells the server so.
    ///
    /// # Errors
    /// One sentence.
    pub(super) async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<ServedAnswer, String> {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let what = format!("the call of `{tool}`");
        let calling = async {
            match timeout(CALL, self.service.call_tool(params)).await {
                Ok(answered) => answered.map_err(|error| failure::of_call(&self.name, &what, &error)),
                Err(_) => Err(format!(
                    "The tool server `{}` did not do {what} within {} minutes, so it was given up.",
                    self.name,
                    CALL.as_secs() / 60
                )),
            }
        };
        self.until_over(&what, calling).await.map(content::answer)
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// One sentence.
    pub(super) async fn read(&self, uri: &str) -> Result<String, String> {
        let what = format!("the reading of `{uri}`");
        let reading = self.service.read_resource(ReadResourceRequestParams::new(uri));
        let read = self.until_over(&what, self.within(&format!("`{uri}`"), reading)).await?;
        content::resource(&read).ok_or_else(|| format!("The resource `{uri}` of `{}` is empty.", self.name))
    }

    /// Has the server write a prompt.
    ///
    /// # Errors
    /// One sentence.
    pub(super) async fn prompt(
        &self,
        prompt: &str,
        arguments: impl IntoIterator<Item = (String, String)>,
    ) -> Result<String, String> {
        let arguments: Map<String, Value> =
            arguments.into_iter().map(|(name, value)| (name, Value::from(value))).collect();
        let params = GetPromptRequestParams::new(prompt).with_arguments(arguments);
        let what = format!("the prompt `{prompt}`");
        let asking = self.service.get_prompt(params);
        let got = self.until_over(&what, self.within(&what, asking)).await?;
        Some(content::prompt(&got))
            .filter(|text| !text.trim().is_empty())
            .ok_or_else(|| format!("The tool server `{}` gave an empty prompt for `{prompt}`.", self.name))
    }

    /// What is waited for, or why the connection was over before.
    async fn until_over<T>(
        &self,
        what: &str,
        waiting: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        /// The end of a program follows the end of its pipe at once.
        const SOON: Duration = Duration::from_millis(500);
        let why = tokio::select! {
            biased;
            answered = waiting => match answered {
                // A connection that is cut is soon known to be over, with the reason.
                Err(_) if self.service.is_transport_closed() => {
                    let why = timeout(SOON, self.until_closed()).await.unwrap_or_else(|_| self.closed());
                    self.close(why.clone());
                    why
                }
                answered => return answered,
            },
            why = self.until_closed() => why,
        };
        Err(format!("{why} So {what} has no result; it may have been done all the same."))
    }
}

/// Arguments as every provider takes them: an object, with its properties.
fn parameters(schema: &Map<String, Value>) -> Map<String, Value> {
    let mut parameters = schema.clone();
    parameters.shift_remove("$schema");
    parameters.insert("type".to_owned(), "object".into());
    if !parameters.get("properties").is_some_and(Value::is_object) {
        parameters.insert("properties".to_owned(), Value::Object(Map::new()));
    }
    parameters
}

fn argument(argument: rmcp::model::PromptArgument) -> McpArgument {
    McpArgument { name: argument.name, required: argument.required == Some(true) }
}

/// The pages of a list.
struct Page {
    left: usize,
    next: Option<Option<String>>,
}

impl Page {
    fn first() -> Self {
        Self { left: PAGES, next: Some(None) }
    }

    fn next(&mut self) -> Option<Option<PaginatedRequestParams>> {
        let cursor = self.next.take()?;
        self.left = self.left.checked_sub(1)?;
        Some(cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor))))
    }

    fn follow(&mut self, cursor: Option<String>) {
        self.next = cursor.map(Some);
    }
}
