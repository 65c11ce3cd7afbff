import "./field.css";
import type { ComponentChildren, VNode } from "preact";
import { useId } from "preact/hooks";
import { Icon } from "./icon.js";

export interface FieldProps {
  readonly label: string;
  /** Receives the ids for the control: `<input id={id} aria-describedby={describedBy} />`. */
  readonly children: (ids: { readonly id: string; readonly describedBy: string | undefined }) => ComponentChildren;
  readonly hint?: ComponentChildren;
  /** The validation error of the value. */
  readonly error?: string | undefined;
}

/** A labelled control with a hint and its error. */
export function Field({ label, children, hint, error }: FieldProps): VNode {
  const id = useId();
  const noteId = `${id}-note`;
  const hasNote = hint !== undefined || error !== undefined;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, describedBy: hasNote ? noteId : undefined })}
      {hasNote && (
        <div id={noteId} class={error === undefined ? "field-hint" : "field-error"}>
          {error ?? hint}
        </div>
      )}
    </div>
  );
}

export interface SearchFieldProps {
  /** What is searched: "servers". */
  readonly what: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}

export function SearchField({ what, value, onInput }: SearchFieldProps): VNode {
  return (
    <label class="search-field">
      <Icon name="search" size={14} />
      <span class="visually-hidden">Search {what}</span>
      <input
        type="search"
        placeholder={`Search ${what}`}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}
