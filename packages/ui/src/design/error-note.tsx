import "./error-note.css";
import type { ComponentChildren, VNode } from "preact";
import { errorMessage } from "./error-message.js";
import { visibleText } from "./visible-text.js";

export interface ErrorNoteProps {
  readonly error: unknown;
  /** What to do about it: buttons or a command. */
  readonly children?: ComponentChildren;
}

/** An error message, announced to screen readers. */
export function ErrorNote({ error, children }: ErrorNoteProps): VNode {
  return (
    <div class="error-note" role="alert">
      {visibleText(errorMessage(error))}
      {children}
    </div>
  );
}
