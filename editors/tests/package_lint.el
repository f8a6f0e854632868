;;; package_lint.el --- What package-lint says of editors/emacs/breadboard.el -*- lexical-binding: t -*-
;; Prints each complaint, and ends with 1 where there is one.  Needs BB_PACKAGE (the folder of the file).

(dolist (folder (file-expand-wildcards "/usr/share/emacs/site-lisp/elpa/*")) (add-to-list 'load-path folder))
(require 'package-lint)
;; No archive is asked here: what the package needs is known to be in GNU's.
(push (list 'eglot (package-desc-create :name 'eglot :version '(1 9) :archive "gnu")) package-archive-contents)

(defconst outdated '("This makes the package uninstallable in all released Emacs versions.")
  "Complaints of a package-lint that is older than the Emacs that it is run in.")

(with-temp-buffer
  (insert-file-contents (expand-file-name "breadboard.el" (getenv "BB_PACKAGE")) t)
  (emacs-lisp-mode)
  (let ((found (seq-remove (lambda (each) (member (nth 3 each) outdated)) (package-lint-buffer))))
    (dolist (each found) (princ (format "breadboard.el:%s:%s: %s: %s\n" (nth 0 each) (nth 1 each) (nth 2 each) (nth 3 each))))
    (kill-emacs (if found 1 0))))
