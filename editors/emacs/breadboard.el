;;; breadboard.el --- Coding agents by breadboard-ls  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1") (eglot "1.9"))
;; Keywords: tools, convenience
;; URL: https://github.com/breadboard-ls/breadboard-ls
;; SPDX-License-Identifier: MIT OR Apache-2.0

;;; Commentary:

;; A client of `breadboard-ls' on Eglot: ask an agent, see its answer stream,
;; see all of what it wants to do before you allow it, find what was said.
;;
;;     (require 'breadboard)
;;     (breadboard-enable)
;;
;; Then M-x eglot in a file of the project, and M-x breadboard-ask.  Who answers
;; is chosen by M-x breadboard-setup.  Without M-x breadboard-trust the agent
;; only reads.

;;; Code:

(require 'cl-lib)
(require 'eglot)
(require 'json)
(require 'jsonrpc)
(require 'seq)
(require 'subr-x)
(require 'term)

(defgroup breadboard nil
  "Coding agents by breadboard-ls."
  :group 'tools)

(defcustom breadboard-program "breadboard-ls"
  "Program of the server."
  :type 'string)

(defcustom breadboard-modes '(prog-mode)
  "Modes whose buffers the server is told of.
Eglot runs one server for a mode: name narrower modes than `prog-mode' where the
language's own server is to stay."
  :type '(repeat symbol))

(defclass breadboard-server (eglot-lsp-server) ()
  "The server, as Eglot knows it.")

;;;###autoload
(defun breadboard-enable ()
  "Have Eglot start the server for `breadboard-modes'."
  (interactive)
  (add-to-list 'eglot-server-programs
               `(,breadboard-modes . (breadboard-server ,breadboard-program "--stdio")))
  (add-hook 'eglot-connect-hook #'breadboard--connected))

;;;###autoload
(defun breadboard-setup ()
  "Choose who answers, in a terminal; it counts from the next start of the server."
  (interactive)
  (set-buffer (make-term "breadboard setup" breadboard-program nil "setup" "--workspace"
                         (expand-file-name default-directory)))
  (term-mode)
  (term-char-mode)
  (pop-to-buffer (current-buffer)))

(defvar breadboard-session nil "The session in front.")
(defvar breadboard--blocks (make-hash-table :test 'equal) "The overlay of each block that is shown, by id.")
(defvar breadboard--asks nil "The permission blocks that wait, newest first.")

(defun breadboard--call (method &rest params)
  "Send the request METHOD with PARAMS, and give its answer."
  (jsonrpc-request (or (eglot-current-server) (user-error "Start the server with M-x eglot")) method params))

;; What needs no answer is sent without waiting: the end of a wait leaves the
;; messages behind it unread until more come.
(defun breadboard--send (method &rest params)
  "Send the request METHOD with PARAMS; a refusal is said."
  (jsonrpc-async-request (eglot-current-server) method params
                         :success-fn #'ignore :error-fn (lambda (err) (message "%s" (plist-get err :message)))))

(defun breadboard--connected (server)
  "Show the session in front as SERVER has it, where it was started again.
What its end cost the session, the session says."
  (let ((session breadboard-session))
    (when (and session (cl-typep server 'breadboard-server))
      ;; A session of another project stays as it is shown.
      (jsonrpc-async-request server :bb/selectSession (list :sessionId session)
                             :success-fn (lambda (selected)
                                           (eglot-handle-notification server 'bb/view :sessionId session
                                                                      :snapshot (plist-get selected :view)))
                             :error-fn #'ignore))))

;;;###autoload
(defun breadboard-ask (text)
  "Ask the agent TEXT in the session in front, or in a new one."
  (interactive "sAsk: ")
  (unless breadboard-session
    (setq breadboard-session (plist-get (breadboard--call :bb/createSession) :sessionId)))
  (breadboard--send :bb/sendMessage :sessionId breadboard-session :text text)
  (display-buffer (get-buffer-create "*breadboard*")))

(defun breadboard-stop ()
  "Stop the running turn."
  (interactive)
  (breadboard--send :bb/stop :sessionId breadboard-session))

(defun breadboard-trust ()
  "Let the agent write and run in this project what is allowed each time."
  (interactive)
  (jsonrpc-notify (eglot-current-server) :bb/workspaceTrust '(:trusted t)))

(defun breadboard--fields (mark fields)
  "A line for each of FIELDS, MARK in front; further lines stand below it."
  (cl-loop for (name value) on fields by #'cddr
           for text = (if (stringp value) value (json-encode value))
           concat (format "%s%s: %s\n" mark (substring (symbol-name name) 1)
                          (replace-regexp-in-string "\n" "\n      " text t t))))

(cl-defun breadboard--file ((&key change root filePath oldPath added removed diff &allow-other-keys))
  "A file of an edit.
CHANGE is what happens to FILEPATH in ROOT, which was OLDPATH before; ADDED and
REMOVED are lines, DIFF is all of them."
  (format "%s %s%s%s +%s −%s\n%s" change (if root (concat root ": ") "") (if oldPath (concat oldPath " → ") "") filePath
          (or added "?") (or removed "?") (or diff "")))

(defun breadboard--subject (subject)
  "All of what would be done by SUBJECT; the server made it safe to show."
  (concat
   (when (plist-get subject :reason) (breadboard--fields "" (list :why (plist-get subject :reason))))
   (when (eq (plist-get subject :unknown) t) "The agent did not tell exactly what it would do.\n")
   (pcase (plist-get subject :kind)
     ("edit" (mapconcat #'breadboard--file (plist-get subject :files) "\n"))
     ("command" (let ((cwd (plist-get subject :cwd)))
                  (concat (breadboard--fields "" (list :command (plist-get subject :command) :in cwd))
                          (breadboard--fields "  with " (plist-get subject :env)))))
     ("tool" (let ((input (plist-get subject :input)))
               (concat (breadboard--fields "" (list :tool (plist-get subject :name)))
                       (breadboard--fields "  " (if (consp input) input (and input (list :with input)))))))
     ("question" (let ((url (plist-get (plist-get subject :input) :url)))
                   (breadboard--fields "" `(:question ,(plist-get subject :text) ,@(when url (list :address url)))))))))

(defun breadboard--option (option)
  "What OPTION is called, with the rule that it would save."
  (let* ((rule (plist-get option :rule)) (label (plist-get option :label))
         ;; An agent names its rule by what its option says.
         (pattern (unless (equal (plist-get rule :pattern) label) (plist-get rule :pattern))))
    (concat label (when rule (format " (%skept by the %s)" (if pattern (concat pattern ", ") "") (plist-get rule :holder))))))

(defun breadboard-approve ()
  "Show all of what the agent asks, and answer it."
  (interactive)
  (let* ((block (or (car breadboard--asks) (user-error "Nothing waits for an answer")))
         (id (plist-get (plist-get block :permission) :requestId))
         (ask (plist-get (breadboard--call :bb/permission/get :sessionId breadboard-session :requestId id) :permission))
         (subject (plist-get ask :subject)))
    (with-output-to-temp-buffer "*breadboard ask*"
      (princ (format "%s\n\n%s" (plist-get ask :title) (breadboard--subject subject))))
    ;; A form is not filled in here, and what is cut or of a later kind is not shown: those can only be denied.
    (let* ((shown (and (not (plist-get subject :truncated))
                       (pcase (plist-get subject :kind)
                         ((or "edit" "command" "tool") t)
                         ("question" (not (plist-get (plist-get subject :input) :schema))))))
           (options (seq-filter (lambda (each) (or shown (equal (plist-get each :kind) "deny")))
                                (plist-get ask :options)))
           (label (completing-read (format "%s? " (plist-get ask :title)) (mapcar #'breadboard--option options) nil t))
           (option (seq-find (lambda (each) (equal (breadboard--option each) label)) options)))
      (breadboard--send :bb/approvePermission :sessionId breadboard-session :requestId id
                        :decision (plist-get option :kind) :optionId (plist-get option :optionId)
                        :digest (plist-get ask :digest)))))

(defun breadboard--text (block)
  "The words of BLOCK in the chat, or nil."
  (let ((text (plist-get block :text)))
    (pcase (plist-get block :kind)
      ("user" (concat "> " text))
      ((or "assistant" "notice") text)
      ("tool" (format "[%s] %s" (plist-get block :status) (or (plist-get block :title) (plist-get block :name))))
      ("patch" (plist-get block :diff))
      ("permission" (format "? %s (%s)" (plist-get (plist-get block :permission) :title) (plist-get block :status))))))

(defun breadboard--put (block)
  "Draw BLOCK in place of itself, or at the end."
  (let* ((id (plist-get block :id)) (known (gethash id breadboard--blocks)) (text (breadboard--text block)))
    (when (equal (plist-get block :kind) "permission")
      (setq breadboard--asks (seq-remove (lambda (ask) (equal (plist-get ask :id) id)) breadboard--asks))
      (when (equal (plist-get block :status) "pending")
        (push block breadboard--asks)
        (message "The agent asks: %s (M-x breadboard-approve)" (plist-get (plist-get block :permission) :title))))
    (cond
     (known
      (let ((start (overlay-start known)))
        (goto-char start)
        (delete-region start (overlay-end known))
        (insert (or text ""))
        (move-overlay known start (point))))
     (text
      (goto-char (point-max))
      (insert text "\n\n")
      (puthash id (make-overlay (- (point) 2 (length text)) (- (point) 2)) breadboard--blocks)))))

(defun breadboard--change (change)
  "Apply CHANGE of the chat."
  (let ((known (gethash (plist-get change :id) breadboard--blocks)))
    (pcase (plist-get change :op)
      ("put" (breadboard--put (plist-get change :block)))
      ("append" (when known
                  (let ((start (overlay-start known)))
                    (goto-char (overlay-end known))
                    (insert (plist-get change :text))
                    (move-overlay known start (point)))))
      ("remove" (when known
                  (delete-region (overlay-start known) (overlay-end known))
                  (remhash (plist-get change :id) breadboard--blocks))))))

(cl-defmethod eglot-handle-notification
  ((_server breadboard-server) (_method (eql bb/view)) &key sessionId changes snapshot &allow-other-keys)
  "Show what is new of SESSIONID, where that is in front.
That is a SNAPSHOT, or CHANGES of the one before."
  (when (equal sessionId breadboard-session)
    (with-current-buffer (get-buffer-create "*breadboard*")
      (save-excursion
        (when snapshot
          (erase-buffer)
          (clrhash breadboard--blocks)
          (seq-do #'breadboard--put (plist-get (plist-get (plist-get snapshot :lanes) :chat) :blocks)))
        (seq-do (lambda (change) (when (equal (plist-get change :lane) "chat") (breadboard--change change))) changes)))))

(defun breadboard--line (summary found)
  "SUMMARY of a session on one line, with where the words were FOUND in it."
  (let* ((id (plist-get summary :sessionId))
         (places (plist-get found (intern (concat ":" id))))
         (place (and (> (length places) 0) (elt places 0))))
    (concat (or (plist-get summary :title) id)
            (when (eq (plist-get summary :pinned) t) " (pinned)")
            (when place (format "  %s: %s" (plist-get place :by) (plist-get place :text))))))

;;;###autoload
(defun breadboard-sessions (words)
  "Put a session in front, of those in which WORDS were said; blank: of all."
  (interactive "sSaid in it (blank for all): ")
  (let* ((blank (string-blank-p words))
         (listed (if blank (breadboard--call :bb/listSessions)
                   (breadboard--call :bb/listSessions :query words)))
         (found (plist-get listed :found))
         (rows (seq-map (lambda (each) (cons (breadboard--line each found) (plist-get each :sessionId)))
                        (plist-get listed :sessions))))
    (unless rows (user-error "Nothing was said with these words, and no title has them"))
    (breadboard--show (cdr (assoc (completing-read "Session: " rows nil t) rows)))))

(defun breadboard--show (session)
  "Put SESSION in front."
  (setq breadboard-session session)
  (eglot-handle-notification
   (eglot-current-server) 'bb/view :sessionId session
   :snapshot (plist-get (breadboard--call :bb/selectSession :sessionId session) :view))
  (display-buffer (get-buffer-create "*breadboard*")))

(defun breadboard--in-front ()
  "Return what the list has of the session in front."
  (or (seq-find (lambda (each) (equal (plist-get each :sessionId) breadboard-session))
                (plist-get (breadboard--call :bb/listSessions) :sessions))
      (user-error "No session is in front; begin one with M-x breadboard-ask")))

;;;###autoload
(defun breadboard-pin ()
  "Pin the session in front, so that it stands first; once more takes that back."
  (interactive)
  (let ((pinned (eq (plist-get (breadboard--in-front) :pinned) t)))
    (breadboard--call :bb/session/pin :sessionId breadboard-session :pinned (if pinned :json-false t))
    (message (if pinned "Not pinned any more" "Pinned"))))

;;;###autoload
(defun breadboard-continue (agent)
  "Go on with the session in front in a new one, with AGENT.
Blank: with the engine of the settings.  The session stays as it is."
  (interactive "sContinue with (blank for the engine of the settings): ")
  (let ((made (if (string-blank-p agent)
                  (breadboard--call :bb/session/branch
                                    :sessionId breadboard-session :engine "current")
                (breadboard--call :bb/session/branch :sessionId breadboard-session :agent agent))))
    (breadboard--show (plist-get made :sessionId))
    (message "%s" (plist-get made :text))))

(provide 'breadboard)
;;; breadboard.el ends here
