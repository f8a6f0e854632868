//! A reply that is being put together.
//!
//! Owns its parts in the order in which they began, and every limit on them. Calls are found by the provider's number
//! through a map, never by a position that the provider chose. Never reads JSON, arguments at the end aside.

use std::collections::BTreeMap;

use super::bounds;
use super::conversation::{Call, Finished, Part, SpokenCall};
use super::fault::ModelFault;
use super::json;
use super::usage::ReplyUsage;

/// Why a provider ended a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// The model was done, or wants its tools to be called.
    Done,
    /// The reply reached its length limit.
    Length,
    /// A filter cut it.
    Filter,
}

/// Tokens as the provider counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TokenUsage {
    /// In.
    pub input: Option<u64>,
    /// Out.
    pub output: Option<u64>,
    /// Both, where the provider adds them.
    pub total: Option<u64>,
    /// Of those in, the ones that came from its cache.
    pub cached: Option<u64>,
    /// What it cost, where the endpoint says so.
    pub cost: Option<f64>,
}

impl TokenUsage {
    fn sum(self) -> u64 {
        self.total.unwrap_or_else(|| self.input.unwrap_or(0).saturating_add(self.output.unwrap_or(0)))
    }

    fn in_parts(self) -> ReplyUsage {
        let output = self.output.unwrap_or(0);
        ReplyUsage {
            input: self.input.unwrap_or_else(|| self.sum().saturating_sub(output)),
            output,
            cached: self.cached.unwrap_or(0),
            cost: self.cost,
        }
    }
}

/// The reply so far.
#[derive(Debug, Default)]
pub(super) struct ReplyDraft {
    parts: Vec<OpenPart>,
    /// The provider's number of a call or block, and where it stands in `parts`.
    numbered: BTreeMap<u64, usize>,
    calls: usize,
    bytes: usize,
    /// Tokens, last known.
    pub usage: TokenUsage,
    /// Why it ended, once the provider said so.
    pub stop: Option<StopReason>,
}

#[derive(Debug)]
enum OpenPart {
    Text { text: String, signature: Option<String> },
    Thinking { text: String, signature: Option<String> },
    Redacted(String),
    Call(OpenCall),
}

/// A call whose arguments may still come.
#[derive(Debug, Default)]
struct OpenCall {
    id: Option<String>,
    name: String,
    arguments: String,
    signature: Option<String>,
}

/// What is known of a call when it begins.
#[derive(Debug, Default)]
pub(super) struct NewCall {
    /// The provider's id.
    pub id: Option<String>,
    /// Name of the tool.
    pub name: String,
    /// Its arguments, or their beginning.
    pub arguments: String,
    /// What must go back with it.
    pub signature: Option<String>,
}

impl ReplyDraft {
    /// Whether nothing was said yet.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes that it holds.
    pub(super) fn held(&self) -> usize {
        self.bytes
    }

    /// A piece of text; it joins text just before it.
    pub(super) fn text(&mut self, piece: &str) -> Result<(), ModelFault> {
        self.hold(piece.len())?;
        match self.parts.last_mut() {
            Some(OpenPart::Text { text, signature: None }) => text.push_str(piece),
            _ if piece.is_empty() => {}
            _ => {
                self.begin(OpenPart::Text { text: piece.to_owned(), signature: None })?;
            }
        }
        Ok(())
    }

    /// A piece of reasoning; it joins reasoning just before it that is not signed yet.
    pub(super) fn thinking(&mut self, piece: &str) -> Result<(), ModelFault> {
        self.hold(piece.len())?;
        match self.parts.last_mut() {
            Some(OpenPart::Thinking { text, signature: None }) => text.push_str(piece),
            _ if piece.is_empty() => {}
            _ => {
                self.begin(OpenPart::Thinking { text: piece.to_owned(), signature: None })?;
            }
        }
        Ok(())
    }

    /// Text that carries a signature of its own, which may be empty text.
    pub(super) fn signed_text(&mut self, text: String, signature: String) -> Result<(), ModelFault> {
        self.hold(text.len().saturating_add(signature.len()))?;
        self.begin(OpenPart::Text { text, signature: Some(signature) }).map(drop)
    }

    /// Reasoning begins anew, also just behind other reasoning.
    pub(super) fn begin_thinking(&mut self) -> Result<(), ModelFault> {
        self.begin(OpenPart::Thinking { text: String::new(), signature: None }).map(drop)
    }

    /// A piece of the signature of the reasoning that came last.
    pub(super) fn sign(&mut self, piece: &str) -> Result<(), ModelFault> {
        self.hold(piece.len())?;
        let last = self.parts.iter_mut().rev().find_map(|part| match part {
            OpenPart::Thinking { signature, .. } => Some(signature),
            OpenPart::Text { .. } | OpenPart::Redacted(_) | OpenPart::Call(_) => None,
        });
        if let Some(signature) = last {
            signature.get_or_insert_default().push_str(piece);
        }
        Ok(())
    }

    /// Reasoning that only the provider can read.
    pub(super) fn redacted(&mut self, data: String) -> Result<(), ModelFault> {
        self.hold(data.len())?;
        self.begin(OpenPart::Redacted(data)).map(drop)
    }

    /// A call begins. `number` is the provider's, for pieces that follow.
    pub(super) fn call(&mut self, number: Option<u64>, call: NewCall) -> Result<(), ModelFault> {
        if self.calls >= bounds::CALLS {
            return Err(ModelFault::Calls);
        }
        let NewCall { id, name, arguments, signature } = call;
        if name.len() > bounds::NAME_BYTES || id.as_ref().is_some_and(|id| id.len() > bounds::ID_BYTES) {
            return Err(ModelFault::Name);
        }
        if arguments.len() > bounds::ARGUMENT_BYTES {
            return Err(ModelFault::ArgumentBytes);
        }
        let lengths = [&id, &signature].map(|text| text.as_ref().map_or(0, String::len));
        self.hold(name.len() + arguments.len() + lengths.iter().sum::<usize>())?;
        let id = id.filter(|id| !id.is_empty());
        let place = self.begin(OpenPart::Call(OpenCall { id, name, arguments, signature }))?;
        self.calls += 1;
        if let Some(number) = number {
            self.numbered.insert(number, place);
        }
        Ok(())
    }

    /// Whether a call with this number began.
    pub(super) fn has_call(&self, number: u64) -> bool {
        self.numbered.contains_key(&number)
    }

    /// A piece of the arguments of the call with this number; of the last call where there is none. Without a call it means
    /// nothing.
    pub(super) fn extend_call(&mut self, number: Option<u64>, piece: &str) -> Result<(), ModelFault> {
        self.hold(piece.len())?;
        let Some(call) = self.open_call(number) else { return Ok(()) };
        if call.arguments.len() + piece.len() > bounds::ARGUMENT_BYTES {
            return Err(ModelFault::ArgumentBytes);
        }
        call.arguments.push_str(piece);
        Ok(())
    }

    /// The whole arguments of the call with this number, in place of what came of them.
    pub(super) fn complete_call(&mut self, number: Option<u64>, arguments: String) -> Result<(), ModelFault> {
        if arguments.len() > bounds::ARGUMENT_BYTES {
            return Err(ModelFault::ArgumentBytes);
        }
        self.hold(arguments.len())?;
        if let Some(call) = self.open_call(number) {
            let before = std::mem::replace(&mut call.arguments, arguments).len();
            self.bytes = self.bytes.saturating_sub(before);
        }
        Ok(())
    }

    /// Name and id of a call that came behind its beginning.
    pub(super) fn name_call(
        &mut self,
        number: Option<u64>,
        id: Option<String>,
        name: &str,
    ) -> Result<(), ModelFault> {
        if name.len() > bounds::NAME_BYTES || id.as_ref().is_some_and(|id| id.len() > bounds::ID_BYTES) {
            return Err(ModelFault::Name);
        }
        self.hold(name.len() + id.as_ref().map_or(0, String::len))?;
        if let Some(call) = self.open_call(number) {
            if !name.is_empty() {
                name.clone_into(&mut call.name);
            }
            call.id = id.filter(|id| !id.is_empty()).or_else(|| call.id.take());
        }
        Ok(())
    }

    /// The complete reply. Reads arguments, so its work grows with [`Self::held`].
    pub(super) fn finish(self) -> Result<Finished, ModelFault> {
        let mut calls = Vec::new();
        let mut parts = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            parts.push(match part {
                OpenPart::Text { text, signature } => Part::Text { text, signature },
                OpenPart::Thinking { text, signature } => Part::Thinking { text, signature },
                OpenPart::Redacted(data) => Part::Redacted { data },
                OpenPart::Call(OpenCall { id, name, arguments, signature }) => {
                    let call_id = id.clone().unwrap_or_else(|| format!("call_{}", calls.len()));
                    let call = Call { call_id, name, arguments: json::arguments(&arguments)? };
                    calls.push(call.clone());
                    Part::Call(SpokenCall { call, provider_id: id, signature })
                }
            });
        }
        let ended_early = match self.stop {
            Some(StopReason::Length) => {
                Some("The model reached its length limit, so the answer ends here; ask for the rest.")
            }
            Some(StopReason::Filter) => Some("The provider's content filter ended the answer here."),
            Some(StopReason::Done) | None => None,
        };
        Ok(Finished {
            calls,
            tokens_used: self.usage.sum(),
            usage: self.usage.in_parts(),
            ended_early,
            parts: parts.into(),
            bytes: self.bytes,
        })
    }

    fn open_call(&mut self, number: Option<u64>) -> Option<&mut OpenCall> {
        let is_call = |part: &OpenPart| matches!(part, OpenPart::Call(_));
        let place = match number {
            Some(number) => *self.numbered.get(&number)?,
            None => self.parts.iter().rposition(is_call)?,
        };
        match self.parts.get_mut(place) {
            Some(OpenPart::Call(call)) => Some(call),
            Some(OpenPart::Text { .. } | OpenPart::Thinking { .. } | OpenPart::Redacted(_)) | None => None,
        }
    }

    fn begin(&mut self, part: OpenPart) -> Result<usize, ModelFault> {
        if self.parts.len() >= bounds::PARTS {
            return Err(ModelFault::Parts);
        }
        self.parts.push(part);
        Ok(self.parts.len() - 1)
    }

    fn hold(&mut self, bytes: usize) -> Result<(), ModelFault> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > bounds::RETAINED_BYTES { Err(ModelFault::Retained) } else { Ok(()) }
    }
}
