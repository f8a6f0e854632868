//! What the tests, benchmarks, examples and fuzz targets of this package reach, room by room. Not an interface for anybody else.
//!
//! Everything else is private to the crate, so that the compiler says what nothing uses. Adds nothing of its own.

#![allow(missing_docs, reason = "each item has its documentation where it stands")]

#[cfg(feature = "server")]
pub mod app {
    pub use crate::app::{App, ClientId, EditorEvent, Event, Ports, run};
    pub mod inbox {
        pub use crate::app::inbox::{
            Answer, CommandOffer, DocumentEvent, ENGINE_BOUND, EditorAbilities, EditorEvent, EditorReply,
            Folder, Inbox, OfferKind, PlainAbilities, Reply, StandardAnswer, StandardRequest, StartUp,
            StateHint, WordKind, WordOffered,
        };
    }
    pub mod ports {
        pub use crate::app::ports::{
            AgentCall, AgentHello, AgentProcess, AgentReport, AgentSession, Ambient, Applied, Artifact,
            Attachment, BatchRow, BlockRow, ClientRequest, CommandRan, Commit, Connectivity, DiffFor,
            DiffJob, DiffRoot, DiffSide, DownloadFor, Engine, EngineCall, EngineCursor, EngineDecision,
            EngineReport, EngineSession, EngineTraits, FileJob, FileJobDone, FileText, Files, Found,
            HolderRequest, Journal, JournalError, Lease, LedgerRow, LinkNews, ListedSessions, ModelEndpoint,
            ModelEndpoints, NewSession, News, OpenJournal, Outbox, PatchText, Preview, Prompt, RealPlace,
            ResumedLink, Ruling, Secret, SessionHome, SessionReply, SessionRow, Settlement, SpecFilesDone,
            SpecJob, StreamCall, StreamReport, StreamResume, TabRow, TerminalPiece, TextPart, TurnEnd,
            TurnJob, TurnJobDone, TurnScopes,
        };
    }
    pub mod wire_out {
        pub use crate::app::wire_out::events;
    }
}
pub mod domain {
    pub mod approval {
        pub use crate::domain::approval::{
            AskRoot, FileChange, FolderIdentity, Permission, PermissionAsk, PermissionOptionKind, RuleHolder,
            Subject,
        };
    }
    pub mod delivery {
        pub mod batch {
            pub use crate::domain::delivery::batch::Batcher;
        }
    }
    pub mod dialect {
        pub use crate::domain::dialect::{Dialect, completed, fact, normalize};
        pub mod acp {
            pub mod blocks {
                pub use crate::domain::dialect::acp::blocks::{PromptAttachment, prompt_blocks};
            }
            pub mod decode {
                pub use crate::domain::dialect::acp::decode::{
                    AcpLine, RpcId, UPDATE, ask_event, ask_id, asked_by, method_event, prompt_event,
                    read_line, unreadable_event, update_event,
                };
            }
            pub mod encode {
                pub use crate::domain::dialect::acp::encode::{
                    ClientCapabilities, ConfigValue, ElicitationAnswer, PermissionOutcome, answer,
                    authenticate, done, elicitation, error_answer, file_content, initialize, list_sessions,
                    new_session, notification, of_session, open_session, permission, prompt, request,
                    set_config_option, set_mode, terminal_created, terminal_exit, terminal_output,
                };
            }
            pub mod results {
                pub use crate::domain::dialect::acp::results::{
                    AgentCapabilities, InitializeResult, ListResult, PromptCapabilities, SessionResult, read,
                };
            }
            pub mod state {
                pub use crate::domain::dialect::acp::state::{AgentChange, AgentState};
            }
        }
        pub mod breadboard {
            pub mod decode {
                pub use crate::domain::dialect::breadboard::decode::{Decoded, decode};
            }
            pub mod schema {
                pub use crate::domain::dialect::breadboard::schema::{Field, Holds, SHAPES, SentBy};
            }
        }
        pub mod desktop {
            pub mod message {
                pub use crate::domain::dialect::desktop::message::{
                    FinalMetadata, PatchProposed, ServerMessage, ThinkingPhase,
                };
            }
        }
    }
    pub mod edits {
        pub mod apply {
            pub use crate::domain::edits::apply::{TextEdit, apply_edits, apply_hunks, keep_line_ends};
        }
        pub mod diff {
            pub use crate::domain::edits::diff::unified_diff;
        }
        pub mod diff_uri {
            pub use crate::domain::edits::diff_uri::DiffDocument;
        }
        pub mod overlay {
            pub use crate::domain::edits::overlay::{ContentChange, Overlay, PositionEncoding};
        }
        pub mod patch {
            pub use crate::domain::edits::patch::{FilePatch, Hunk, LineKind, parse};
        }
        pub mod reference {
            pub use crate::domain::edits::reference::Reference;
        }
        pub mod replace {
            pub use crate::domain::edits::replace::replacement;
        }
        pub mod text {
            pub use crate::domain::edits::text::{content_hash, decode, decode_as, encode, mark};
        }
    }
    pub mod event {
        pub use crate::domain::event::{
            EngineEvent, EventClass, LocalKind, NormalizedEvent, Origin, SessionEvent,
        };
    }
    pub mod coded_error {
        pub use crate::domain::coded_error::{CodedError, ErrorCode};
    }
    pub mod fact {
        pub use crate::domain::fact::{Fact, NoticeLevel};
    }
    pub mod payload {
        pub use crate::domain::payload::Payload;
    }
    pub mod policy {
        pub mod path {
            pub use crate::domain::policy::path::WorkspacePath;
        }
        pub mod judgement {
            pub use crate::domain::policy::judgement::PlaceKind;
        }
        pub mod redact {
            pub use crate::domain::policy::redact::Redactor;
        }
        pub mod shell_line {
            pub use crate::domain::policy::shell_line::{Joined, read};
        }
        pub mod uri {
            pub use crate::domain::policy::uri::{push_encoded, spelling};
        }
    }
    pub mod spec {
        pub mod images {
            pub use crate::domain::spec::images::ImageFault;
        }
        pub mod markdown {
            pub use crate::domain::spec::markdown::{MARKDOWN_BYTES, import};
        }
    }
    pub mod view {
        pub use crate::domain::view::{
            Block, BlockBody, Change, DirtyBlocks, Lane, ToolBlockStatus, View, ViewLanes, ViewState,
            apply_changes, coalesce,
        };
    }
    pub mod wire {
        pub mod lenient_json {
            pub use crate::domain::wire::lenient_json::{MAX_DEPTH, is_strict, repair};
        }
        pub mod sse {
            pub use crate::domain::wire::sse::{MAX_FIELD_BYTES, SseDecoder, SseFrame, SseItem};
        }
    }
}
#[cfg(feature = "server")]
pub mod editor {
    pub use crate::editor::{
        FrameOutbox, Guard, Inbound, Message, RequestId, Skimmed, Skimmer, open_stdout, read_start_up,
    };
}
#[cfg(feature = "server")]
pub mod engine {
    pub mod acp {
        pub use crate::engine::acp::{AcpEngine, AgentTimeouts, Setup};
        pub mod client_side {
            pub use crate::engine::acp::client_side::{
                ClientFiles, CreateTerminal, EnvVariable, Printed, TerminalExit, TerminalOutput, Terminals,
                WriteBase,
            };
        }
        pub mod framing {
            pub use crate::engine::acp::framing::{Line, LineReader};
        }
        pub mod process {
            pub use crate::engine::acp::process::{
                AgentCommand, AgentProcess, AgentStdin, AgentStdout, Cwd, ExitNote, Secrets,
            };
        }
    }
    pub mod breadboard {
        pub use crate::engine::breadboard::{BreadboardEngine, Setup};
        pub mod client {
            pub use crate::engine::breadboard::client::{Client, EngineTimeouts, From};
        }
        pub mod engine_error {
            pub use crate::engine::breadboard::engine_error::{Denied, EngineError};
        }
        pub mod link {
            pub use crate::engine::breadboard::link::{LinkTiming, Links};
        }
    }
}
#[cfg(feature = "server")]
pub mod host {
    pub mod index {
        pub use crate::host::index::{FolderIndex, IndexStanding, IndexStatus, IndexTask, Indexes};
    }
    pub mod ports {
        pub use crate::host::ports::{Root, WorkspaceView};
    }
    pub mod embeddings {
        pub use crate::engine::embedded::embed_by;
    }
    pub mod retrieval {
        pub use crate::host::retrieval::{Found, Place, Symbol, SymbolKind, find_places, new_indexes};
    }
}
#[cfg(feature = "server")]
pub mod http {
    pub use crate::http::BaseUrl;
}
pub mod protocol {
    pub use crate::protocol::Request;
    pub mod agent {
        pub use crate::protocol::agent::AgentStatus;
    }
    pub mod document {
        pub use crate::protocol::document::document;
    }
    pub mod envelope {
        pub use crate::protocol::envelope::{Opened, failed, open, succeeded};
    }
    pub mod error {
        pub use crate::protocol::error::number;
    }
    pub mod method {
        pub use crate::protocol::method::{NOTIFICATIONS, REQUESTS, announced_methods};
    }
    pub mod notification {
        pub use crate::protocol::notification::EventsParams;
    }
    pub mod request {
        pub use crate::protocol::request::{
            CommandResult, CredentialScope, FindFilesParams, ListFilesParams, ModelProvider,
            ModelsCheckParams, ModelsCheckResult, ReadFileSnippetParams,
        };
    }
    pub mod schema {
        pub use crate::protocol::schema::{file_name, files};
    }
    pub mod settings {
        pub use crate::protocol::settings::{
            DeliverySetting, EngineKind, EngineSetting, InitializationOptions, ModelSetting, Overrides,
            RetentionSetting, Settings, WorkspaceConfiguration,
        };
    }
    pub mod standing {
        pub use crate::protocol::standing::{
            ApprovalsSetParams, ApprovalsSetting, CommandBounds, CommandRunner, CommandsSetting,
            StandingOverrides,
        };
    }
    pub mod tab {
        pub use crate::protocol::tab::AgentRestartResult;
    }
    pub mod version {
        pub use crate::protocol::version::WIRE_VERSION;
    }
}
#[cfg(feature = "server")]
pub mod simulate {
    pub mod breadboard {
        pub use crate::simulate::breadboard::{
            Faults, HoldPoint, Script, SeenRequest, SentEvent, Simulator, SimulatorOptions,
        };
    }
    pub mod desktop {
        pub use crate::simulate::desktop::{HostDialect, HostOptions, HostSimulator, Plot};
    }
}
#[cfg(feature = "server")]
pub mod store {
    pub use crate::store::SqliteJournal;
    pub mod front_records {
        pub use crate::store::front_records::{Record, read, write};
    }
}
#[cfg(feature = "server")]
pub mod workspace {
    pub use crate::workspace::WorkspaceFiles;
}
#[cfg(feature = "server")]
pub mod un {}
#[cfg(feature = "server")]
pub mod erve {}
