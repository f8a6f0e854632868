;;; scenario.el --- One story through Emacs' own JSON-RPC  -*- lexical-binding: t -*-

;; `jsonrpc.el' is what Eglot speaks through; it is part of Emacs 27 and newer.  Initialize, open, ask, stream, cancel,
;; refuse, shut down.  Prints one line a step; ends with exit code 0, or 1 at the first step that fails.
;; Needs BB_SERVER (the binary) and BB_HOME (an empty directory for workspace and state).

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'url-util)

(defconst peer-patience 20 "Seconds that the server may owe us anything; test machines are busy.")
(defconst peer-home (or (getenv "BB_HOME") (error "Set BB_HOME to an empty directory")))
(defconst peer-file (expand-file-name "workspace/src/backoff.rs" peer-home))

;; The emoji is one, two or four units, by encoding: an edit behind it tells the encodings apart.
(defconst peer-disk "/// Waits 😀 longer each time.\npub fn wait_time(attempt: u32) -> u64 {\n    100\n}\n")
(defconst peer-buffer
  "/// Waits 😀 a random while.\npub fn jittered_wait_time(attempt: u32) -> u64 {\n    100\n}\n")

(defclass peer-connection (jsonrpc-process-connection) () "A connection whose messages can be held back.")

(defvar peer-held 'nothing "Messages that leave in the next write, newest first; `nothing' while none is held back.")
(defvar peer-heard nil "Every notification as (METHOD . PARAMS), newest first.")
(defvar peer-answered nil "Ids of all answers, newest first.")
(defvar peer-process nil)
(defvar peer-server nil)
(defvar peer-session nil)

(cl-defmethod jsonrpc-connection-send :around ((_ peer-connection) &rest args)
  "Keep ARGS for `peer-in-one-write', or send them."
  (if (eq peer-held 'nothing) (cl-call-next-method) (push args peer-held)))

(defun peer-frame (args)
  "The bytes of the request or notification ARGS."
  (cl-destructuring-bind (&key id method params &allow-other-keys) args
    (let ((body (json-serialize
                 `(:jsonrpc "2.0" ,@(and id (list :id id)) :method ,(substring (format "%s" method) 1) :params ,params))))
      (format "Content-Length: %d\r\n\r\n%s" (string-bytes body) (decode-coding-string body 'utf-8)))))

(defun peer-in-one-write (send)
  "Call SEND and put all that it sends into one write."
  (let (messages)
    (let ((peer-held nil))
      (funcall send)
      (setq messages (reverse peer-held)))
    (process-send-string peer-process (mapconcat #'peer-frame messages ""))
    messages))

(defun peer-count-answer (_connection message &rest _)
  "Keep the id of MESSAGE when it is an answer."
  (unless (plist-get message :method) (push (plist-get message :id) peer-answered)))
(advice-add 'jsonrpc-connection-receive :before #'peer-count-answer)

(defun peer-say (&rest args)
  (princ (concat (apply #'format args) "\n")))

(defun peer-same (actual expected what)
  (unless (equal actual expected)
    (error "%s: got %S, want %S" what actual expected)))

(defun peer-await (what look)
  "The first non-nil value of LOOK, tried again after everything that arrives; WHAT is for the failure."
  (let ((deadline (+ (float-time) peer-patience)) found)
    (while (not (setq found (funcall look)))
      (when (> (float-time) deadline) (error "Waited %d s for %s" peer-patience what))
      (accept-process-output nil 0.05))
    found))

(defun peer-request (method &optional params)
  (jsonrpc-request peer-server method (or params (make-hash-table)) :timeout peer-patience))

(defun peer-refusal (method params)
  "Number and code with which METHOD with PARAMS is refused."
  (condition-case refusal
      (progn (peer-request method params) (error "%s was served" method))
    (jsonrpc-error
     (let ((answer (cddr refusal)))
       (list (alist-get 'jsonrpc-error-code answer) (plist-get (alist-get 'jsonrpc-error-data answer) :code))))))

(defun peer-notes (method)
  "Params of each notification METHOD of our session, in the order of the wire."
  (cl-loop for (name . params) in (reverse peer-heard)
           when (and (eq name method) (equal (plist-get params :sessionId) peer-session)) collect params))

(defun peer-events ()
  (cl-loop for batch in (peer-notes 'bb/events) append (append (plist-get batch :events) nil)))

(defun peer-applied (blocks change)
  "BLOCKS of a lane after CHANGE."
  (let ((at (cl-position (plist-get change :id) blocks :key (lambda (block) (plist-get block :id)) :test #'equal)))
    (pcase (plist-get change :op)
      ("put" (if at (append (cl-subseq blocks 0 at) (list (plist-get change :block)) (nthcdr (1+ at) blocks))
               (append blocks (list (plist-get change :block)))))
      ("append" (let ((block (copy-sequence (nth at blocks))))
                  (setq block (plist-put block :text (concat (plist-get block :text) (plist-get change :text))))
                  (append (cl-subseq blocks 0 at) (list block) (nthcdr (1+ at) blocks))))
      ("remove" (cl-remove (nth (or at (length blocks)) blocks) blocks))
      (op (error "Unknown change %s" op)))))

(defun peer-chat-of (view)
  (append (plist-get (plist-get (plist-get view :lanes) :chat) :blocks) nil))

(defun peer-chat ()
  "The chat as a client holds it: it only applies changes."
  (let (blocks (seq 0))
    (dolist (note (peer-notes 'bb/view) blocks)
      (let ((snapshot (plist-get note :snapshot)))
        (cond
         (snapshot (setq blocks (peer-chat-of snapshot) seq (plist-get snapshot :seq)))
         ((> (plist-get note :toSeq) seq)
          (seq-doseq (change (plist-get note :changes))
            (when (equal (plist-get change :lane) "chat") (setq blocks (peer-applied blocks change))))
          (setq seq (plist-get note :toSeq))))))))

(defun peer-uri (path)
  (concat "file://" (url-hexify-string path url-path-allowed-chars)))

(defun peer-start ()
  (make-directory (file-name-directory peer-file) t)
  (let ((coding-system-for-write 'utf-8)) (write-region peer-disk nil peer-file nil 'quiet))
  (setq peer-process (make-process :name "breadboard-ls" :command (list (getenv "BB_SERVER") "--stdio")
                                   :connection-type 'pipe :coding 'utf-8-emacs-unix :noquery t
                                   :stderr (get-buffer-create "*breadboard-ls stderr*"))
        peer-server (make-instance 'peer-connection :name "breadboard-ls" :process peer-process
                                   :notification-dispatcher
                                   (lambda (_ method params) (push (cons method params) peer-heard))))
  (let* ((root (expand-file-name "workspace" peer-home))
         (answer (peer-request :initialize
                               `(:processId ,(emacs-pid) :rootUri ,(peer-uri root) :capabilities ,(make-hash-table)
                                 :initializationOptions (:stateDir ,(expand-file-name "state" peer-home)))))
         (announced (plist-get (plist-get (plist-get answer :capabilities) :experimental) :breadboard)))
    (peer-same (plist-get announced :v) 1 "version of the wire")
    (jsonrpc-notify peer-server :initialized (make-hash-table))
    (peer-say "initialize: Emacs %s, version %s" emacs-version (plist-get announced :v))))

(defun peer-open ()
  (let ((uri (peer-uri peer-file)))
    (jsonrpc-notify peer-server :textDocument/didOpen
                    `(:textDocument (:uri ,uri :languageId "rust" :version 1 :text ,peer-disk)))
    ;; No encoding was offered, so these are units of UTF-16.
    (jsonrpc-notify peer-server :textDocument/didChange
                    `(:textDocument (:uri ,uri :version 2)
                      :contentChanges
                      [(:range (:start (:line 0 :character 13) :end (:line 0 :character 29)) :text "a random while")
                       (:range (:start (:line 1 :character 7) :end (:line 1 :character 7)) :text "jittered_")]))
    (peer-say "open: unsaved change made")))

(defun peer-ask ()
  (peer-same (plist-get (plist-get (peer-request :bb/init) :engine) :kind) "embedded" "engine")
  (setq peer-session (plist-get (peer-request :bb/createSession) :sessionId))
  (peer-same (peer-request :bb/sendMessage
                           `(:sessionId ,peer-session :text "Where is jittered_wait_time defined?" :messageId "m1"))
             `(:sessionId ,peer-session :messageId "m1" :disposition "started") "bb/sendMessage")
  (peer-await "run.finished"
              (lambda () (cl-some (lambda (event) (equal (plist-get event :class) "run.finished")) (peer-events))))
  (let ((seqs (mapcar (lambda (event) (plist-get event :seq)) (peer-events))))
    (peer-same seqs (number-sequence 1 (length seqs)) "seq of the events")
    (peer-say "bb/events: %d events in order, without holes" (length seqs))))

(defun peer-view ()
  (let* ((fresh (peer-request :bb/selectSession `(:sessionId ,peer-session)))
         (want (peer-chat-of (plist-get fresh :view))))
    (ignore-errors (peer-await "the snapshot" (lambda () (equal (peer-chat) want))))
    (peer-same (peer-chat) want "applied changes and the snapshot")
    (unless (cl-some (lambda (block) (string-match-p "src/backoff\\.rs:" (or (plist-get block :text) ""))) want)
      (error "The answer does not cite src/backoff.rs: %S" want))
    (peer-same (plist-get (peer-request :bb/readFileSnippet `(:sessionId ,peer-session :path "src/backoff.rs")) :content)
               peer-buffer "content")
    (peer-say "bb/view: applied changes equal the snapshot at %d" (plist-get fresh :seq))))

(defun peer-answers-to (id)
  (cl-count id peer-answered :test #'equal))

(defun peer-cancelled (method)
  "Send METHOD and its cancel in one write, as Emacs may; return (ID . NAME-OF-A-FUNCTION-THAT-TELLS-THE-CODE)."
  (let* (code
         (messages (peer-in-one-write
                    (lambda ()
                      (jsonrpc-async-request peer-server method (make-hash-table) :timeout peer-patience
                                             :success-fn (lambda (_) (setq code 'served))
                                             :error-fn (lambda (refusal) (setq code (plist-get refusal :code))))
                      (jsonrpc-notify peer-server :$/cancelRequest `(:id ,(plist-get (car peer-held) :id)))))))
    (cons (plist-get (car messages) :id) (lambda () code))))

(defun peer-cancel ()
  (let* ((deaf (make-network-process :name "deaf" :server t :host "127.0.0.1" :service t :noquery t))
         (url (format "http://127.0.0.1:%d/" (process-contact deaf :service)))
         chosen slow quick)
    (jsonrpc-async-request peer-server :bb/models/set `(:provider "ollama" :name "never-answers" :url ,url)
                           :timeout peer-patience
                           :success-fn (lambda (_) (setq chosen t)) :error-fn (lambda (_) (setq chosen t)))
    (setq slow (peer-cancelled :bb/models/list)
          quick (cl-loop repeat 20 collect (peer-cancelled :bb/listSessions)))
    (dolist (sent (cons slow quick))
      (peer-await "the answer to a cancelled request" (cdr sent)))
    (peer-same (funcall (cdr slow)) -32800 "code of the cancelled request")
    (dolist (sent quick)
      (unless (memq (funcall (cdr sent)) '(served -32800)) (error "Answered with %S" (funcall (cdr sent)))))
    (dolist (process (process-list))
      (when (string-prefix-p "deaf" (process-name process)) (delete-process process)))
    (peer-await "the answer to bb/models/set" (lambda () chosen))
    (peer-request :bb/listSessions)
    (dolist (sent (cons slow quick))
      (peer-same (peer-answers-to (car sent)) 1 "answers to a cancelled request"))
    (peer-say "cancel in one write with its request: %d times, one answer each" (1+ (length quick)))))

(defun peer-refusals ()
  (peer-same (car (peer-refusal :bb/nope (make-hash-table))) -32601 "code of bb/nope")
  (peer-same (peer-refusal :bb/sendMessage '(:sessionId 7)) '(-32602 "invalid_params") "code of bb/sendMessage")
  (peer-same (peer-refusal :bb/selectSession '(:sessionId "no-such")) '(-32803 "unknown_session") "code of bb/selectSession")
  (peer-say "refusals: -32601, -32602, -32803"))

(defun peer-shutdown ()
  (peer-same (peer-request :shutdown) nil "answer to shutdown")
  (jsonrpc-notify peer-server :exit nil)
  (peer-await "the process to end" (lambda () (eq (process-status peer-process) 'exit)))
  (peer-same (process-exit-status peer-process) 0 "exit code")
  (peer-say "shutdown: exit code 0"))

(dolist (step '(peer-start peer-open peer-ask peer-view peer-cancel peer-refusals peer-shutdown))
  (condition-case problem
      (funcall step)
    (error
     (peer-say "FAILED %s: %s" step (error-message-string problem))
     (kill-emacs 1))))
(peer-say "ok 7 steps")

;;; scenario.el ends here
