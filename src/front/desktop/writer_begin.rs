//! How a socket begins: at the newest page of the transcript, or with a replay of what followed the last that its client has.
//!
//! Owns what is written before the first message of the loop. The replay itself is `replay`'s.

use std::sync::Arc;

use super::heard_session::HeardSession;
use super::replay::{EventReplay, HearingFrom, lost};
use super::translate::{ClientNews, TokenPieces, Translator};
use super::writer::{Begun, LONGEST_WRITE, SocketEnded, SocketWriter, SocketWritten};
use crate::domain::dialect::Dialect;
use crate::domain::view::View;
use crate::protocol::Request;
use crate::protocol::desktop::refusal::DesktopRefusal;
use crate::protocol::permission::{PermissionListParams, PermissionListResult};
use crate::protocol::request::Resume;

impl SocketWriter {
    pub(super) async fn begin(&mut self, begun: Begun) -> SocketWritten {
        let Begun { link, outbox, selected, beginning, has_places, pieces } = begun;
        let (mut translator, page) = Translator::begin(&selected.view, pieces);
        let wanted = PermissionListParams { session_id: Some(link.session_id.clone()), tab_id: None };
        // What waits may stand on an older page of the transcript.
        let listed: Option<PermissionListResult> = link.ask(Request::PermissionList(wanted)).await.ok();
        let pending = listed.map(|listed| listed.pending).unwrap_or_default();
        pending.iter().for_each(|pending| translator.waits(&pending.permission));
        let hearing = HeardSession { link, outbox, translator, resume: None, has_places, quiet_at: None };
        self.hearing = Some(hearing);
        let resume = match beginning {
            HearingFrom::Page(resume) => resume,
            HearingFrom::Replay { behind, dialect, resume } => {
                match self.replay((behind, dialect, pieces), &selected.view).await? {
                    // What waits was told with it, or is known.
                    Ok(()) => {
                        self.resumed(Some(resume));
                        return self.state().await;
                    }
                    Err(refusal) => Some(lost(&refusal.message)),
                }
            }
        };
        self.resumed(resume);
        self.pass_on(page).await?;
        for pending in pending {
            self.ask(pending.permission).await?;
        }
        self.state().await
    }

    fn resumed(&mut self, resume: Option<Resume>) {
        self.hearing.as_mut().into_iter().for_each(|hearing| hearing.resume = resume.clone());
    }

    /// What followed what the client has. `Ok(Err(…))`: it could not be read to its end.
    async fn replay(
        &mut self,
        (behind, dialect, pieces): (u64, Dialect, TokenPieces),
        view: &View,
    ) -> Result<Result<(), DesktopRefusal>, SocketEnded> {
        let Some(link) = self.hearing.as_ref().map(|hearing| Arc::clone(&hearing.link)) else {
            return Ok(Ok(()));
        };
        let mut replay = match EventReplay::open(link, (dialect, pieces), behind, view).await {
            Ok(replay) => replay,
            Err(refusal) => return Ok(Err(refusal)),
        };
        loop {
            // No more than a window of what the client has not read, here too.
            let opened = tokio::time::timeout(LONGEST_WRITE, self.window.opens()).await;
            opened.map_err(|_| SocketEnded)?;
            match replay.read().await {
                Ok(Some(mut told)) => {
                    // How the session stands is said once, behind all of it.
                    told.retain(|told| *told != ClientNews::State);
                    self.pass_on(told).await?;
                }
                Ok(None) => return Ok(Ok(())),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    }
}
