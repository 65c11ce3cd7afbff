import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Field } from "../design/index.js";
import { visibleLine } from "../design/visible-text.js";
import { completeArgument, type RpcObject } from "../shell/mcp/index.js";

export interface CompletedFieldProps {
  readonly name: string;
  readonly hint?: string | undefined;
  readonly isRequired?: boolean;
  readonly error?: string | undefined;
  readonly value: string;
  /** The prompt or template that the argument belongs to. */
  readonly reference: RpcObject;
  /** The values of all arguments. */
  readonly others: Readonly<Record<string, string>>;
  readonly onInput: (value: string) => void;
}

const delayMs = 200;

/** A field for which the server suggests values while the user types. */
export function CompletedField({
  name,
  hint,
  isRequired,
  error,
  value,
  reference,
  others,
  onInput,
}: CompletedFieldProps): VNode {
  const [suggestions, setSuggestions] = useState<readonly string[]>([]);
  const [isActive, setActive] = useState(false);
  useEffect(() => {
    if (!isActive) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(() => {
      completeArgument(reference, { name, value }, others, controller.signal).then(setSuggestions, () =>
        setSuggestions([]),
      );
    }, delayMs);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [isActive, value]);
  return (
    <Field label={`${visibleLine(name)}${isRequired ? " *" : ""}`} hint={hint} error={error}>
      {({ id, describedBy }) => (
        <>
          <input
            id={id}
            type="text"
            class="detail-input"
            list={`${id}-list`}
            autocomplete="off"
            aria-describedby={describedBy}
            aria-required={isRequired}
            aria-invalid={error === undefined ? undefined : "true"}
            value={value}
            onFocus={() => setActive(true)}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
          <datalist id={`${id}-list`}>
            {suggestions.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
