;;; emacs.el --- The package editors/emacs/breadboard.el, with the real server -*- lexical-binding: t -*-
;; Asks, streams, shows and allows an edit, in Emacs' own client, with the real server and no model.
;; Needs BB_HOME (an empty directory), BB_PACKAGE (its folder) and `breadboard-ls' on the PATH.

(require 'cl-lib)
(package-initialize)
(dolist (folder (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa/*")) (add-to-list 'load-path folder))
(add-to-list 'load-path (getenv "BB_PACKAGE"))
(require 'breadboard)
(breadboard-enable)
(setq eglot-confirm-server-initiated-edits nil eglot-sync-connect 20 eglot-events-buffer-size 0 eglot-autoreconnect t)

(defconst patience 20
  "Seconds that the server may owe us anything; test machines are busy.")

(defun await (what look)
  (let ((end (+ (float-time) patience)) found)
    (while (not (or (setq found (funcall look)) (> (float-time) end)))
      (accept-process-output nil 0.01))
    (or found (error "Waited %d s for %s; the chat shows:\n%s" patience what (shown)))))

(defun shown ()
  (with-current-buffer (get-buffer-create "*breadboard*") (buffer-string)))

(defun sees (text) (await text (lambda () (string-match-p (regexp-quote text) (shown)))))

(defun same (actual expected what)
  (unless (equal actual expected) (error "%s: got %S, want %S" what actual expected)))

(setq debug-on-error nil)

(defun say (text) (princ (concat text "\n")))

(let* ((workspace (expand-file-name "workspace/" (getenv "BB_HOME")))
       (file (expand-file-name "lib.py" workspace))
       seen)
  (make-directory (expand-file-name ".git" workspace) t)
  (with-temp-file file (insert "def retries():\n    return 3\n"))
  (find-file file)
  (python-mode)
  (apply #'eglot--connect (eglot--guess-contact))
  (say "started")

  (breadboard-ask "where is retries defined?")
  (sees "> where is retries defined?")
  (sees "lib.py:1")
  (sees "No model is configured, so this answer is only what searching the workspace found.")
  (say "asked and streamed")

  (breadboard-trust)
  (breadboard-ask "replace `retries` with `attempts` in lib.py")
  (await "an ask" (lambda () breadboard--asks))
  (sees "? Write lib.py (pending)")
  (cl-letf (((symbol-function 'completing-read)
             (lambda (_prompt labels &rest _)
               (setq seen (list labels (with-current-buffer "*breadboard ask*" (buffer-string))))
               "Allow once")))
    (breadboard-approve))
  (same (car seen)
        '("Allow once" "Allow for this session (write: lib.py, kept by the server)"
          "Always allow in this workspace (write: lib.py, kept by the server)" "Deny")
        "the answers")
  (unless (string-match-p (concat "\\`Write lib.py\n\n\\(why: .*\n\\)?modify lib.py \\+1 −1\n@@ .*\n"
                                  "-def retries():\n\\+def attempts():\n     return 3\n")
                          (cadr seen))
    (error "The diff was not shown: %s" (cadr seen)))
  (sees "? Write lib.py (allowed)")
  (await "the edit" (lambda ()
                      (with-current-buffer (find-buffer-visiting file)
                        (equal (buffer-string) "def attempts():\n    return 3\n"))))
  (same breadboard--asks nil "what waits")
  (sees "Replaced with `attempts`")
  (say "approved and edited")

  (dolist (each '(((:kind "command" :command "make" :cwd "sub" :env (:A "1\nin: .") :reason "to see")
                   "why: to see\ncommand: make\nin: sub\n  with A: 1\n      in: .\n")
                  ((:kind "tool" :name "fetch" :input (:url "http://a" :deep (:b [1 :json-false])) :unknown t)
                   "The agent did not tell exactly what it would do.\ntool: fetch
  url: http://a\n  deep: {\"b\":[1,false]}\n")
                  ((:kind "tool" :name "ping") "tool: ping\n")
                  ((:kind "question" :text "Log in" :input (:url "https://a")) "question: Log in\naddress: https://a\n")
                  ((:kind "question" :text "Why?") "question: Why?\n")
                  ((:kind "edit" :files [(:filePath "b" :change "rename" :oldPath "a")]) "rename a → b +? −?\n")))
    (same (breadboard--subject (car each)) (cadr each) "a subject"))
  (dolist (each '(((:label "Always" :rule (:pattern "Always" :holder "agent")) "Always (kept by the agent)")
                  ((:label "Always" :rule (:pattern "write: a" :holder "server")) "Always (write: a, kept by the server)")
                  ((:label "Allow once") "Allow once")))
    (same (breadboard--option (car each)) (cadr each) "an answer"))
  (say "shown by kind")

  ;; What the changes made is what the server says the session looks like.
  (let ((before (shown)))
    (eglot-handle-notification
     (eglot-current-server) 'bb/view :sessionId breadboard-session
     :snapshot (plist-get (breadboard--call :bb/selectSession :sessionId breadboard-session) :view))
    (same (shown) before "the chat after a snapshot"))
  ;; A session is found by a word of its answer, and put in front.
  (let ((first breadboard-session) (before (shown)) rows)
    (setq breadboard-session nil)
    (cl-letf (((symbol-function 'completing-read)
               (lambda (_prompt table &rest _) (setq rows (mapcar #'car table)) (caar table))))
      (breadboard-sessions "attempts lib.py"))
    (same breadboard-session first "the session in front")
    (unless (string-match-p "\\(prompt\\|answer\\): .*attempts" (car rows)) (error "The place is not shown: %S" rows))
    (same (shown) before "the chat of the session that was found"))
  (say "found by what was said")
  ;; It is pinned and no more, and a new session goes on with it.
  (breadboard-pin)
  (same (plist-get (breadboard--in-front) :pinned) t "the pin")
  (breadboard-pin)
  (same (plist-get (breadboard--in-front) :pinned) nil "no pin")
  (let ((first breadboard-session))
    (breadboard-continue "")
    (when (equal breadboard-session first) (error "No new session goes on"))
    (unless (string-match-p "This session continues" (shown)) (error "It does not say where it comes from: %s" (shown))))
  (say "pinned, and gone on with")
  ;; A server that is started again shows the session in front as it has it.
  (let ((before (shown)) (server (eglot-current-server)))
    (with-current-buffer "*breadboard*" (erase-buffer))
    (signal-process (jsonrpc--process server) 'SIGKILL)
    (await "the chat of the next server" (lambda () (equal (shown) before)))
    (when (eq server (eglot-current-server)) (error "It is the same server")))
  (say "started again")
  (say "ok")
  (set-buffer-modified-p nil)
  (kill-emacs 0))
