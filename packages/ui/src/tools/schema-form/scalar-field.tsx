import type { VNode } from "preact";
import { Field } from "../../design/index.js";
import { visibleLine, visibleText } from "../../design/visible-text.js";
import type { FormProblem } from "./draft.js";
import type { FormNode } from "./form-node.js";
import type { NodeProps } from "./node-props.js";

const placeholders: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  duration: "PT5M",
  email: "name@example.com",
  uri: "https://example.com",
  ipv4: "192.0.2.1",
  uuid: "00000000-0000-0000-0000-000000000000",
};

/** A field for one value. */
export function ScalarField(props: NodeProps): VNode {
  const { node, label, isRequired, pointer, problems } = props;
  const error = errorAt(problems, pointer, node.kind === "json");
  const name = node.title === undefined ? label : `${node.title} (${label})`;
  return (
    <Field
      label={`${visibleLine(name)}${isRequired ? " *" : ""}`}
      hint={hintOf(node)}
      error={error === undefined ? undefined : visibleLine(error, 400)}
    >
      {({ id, describedBy }) => (
        <Control {...props} id={id} describedBy={describedBy} isInvalid={error !== undefined} />
      )}
    </Field>
  );
}

/** The errors of a value, and those below it if it has no fields of its own. */
function errorAt(problems: readonly FormProblem[], pointer: string, isWhole: boolean): string | undefined {
  const found = problems.filter(
    (problem) => problem.pointer === pointer || (isWhole && problem.pointer.startsWith(`${pointer}/`)),
  );
  return found.length === 0 ? undefined : found.map(({ message }) => message).join(" ");
}

function hintOf(node: FormNode): string | undefined {
  const limits: string[] = [];
  if (node.kind === "number") {
    if (node.min !== undefined) limits.push(`at least ${node.min}`);
    if (node.max !== undefined) limits.push(`at most ${node.max}`);
    if (node.above !== undefined) limits.push(`more than ${node.above}`);
    if (node.below !== undefined) limits.push(`less than ${node.below}`);
  }
  if (node.kind === "text") {
    if (node.minLength !== undefined && node.minLength > 1) limits.push(`at least ${node.minLength} characters`);
    if (node.maxLength !== undefined) limits.push(`at most ${node.maxLength} characters`);
    if (node.format !== undefined) limits.push(visibleLine(node.format, 40));
  }
  if (node.kind === "json") limits.push("JSON");
  const parts = [node.description === undefined ? "" : visibleText(node.description), limits.join(", ")];
  return parts.filter((part) => part !== "").join(" · ") || undefined;
}

interface ControlProps extends NodeProps {
  readonly id: string;
  readonly describedBy: string | undefined;
  readonly isInvalid: boolean;
}

function Control({ node, draft, isRequired, id, describedBy, isInvalid, onChange }: ControlProps): VNode {
  const value = typeof draft === "string" ? draft : "";
  const common = {
    id,
    "aria-describedby": describedBy,
    "aria-invalid": isInvalid ? ("true" as const) : undefined,
    "aria-required": isRequired,
  };
  const onInput = (event: { readonly currentTarget: { readonly value: string } }): void =>
    onChange(event.currentTarget.value);
  switch (node.kind) {
    case "boolean":
      if (!isRequired && node.default === undefined) {
        return (
          <select {...common} value={value} onChange={onInput}>
            <option value="">not set</option>
            <option value="true">true</option>
            <option value="false">false</option>
          </select>
        );
      }
      return (
        <input
          {...common}
          type="checkbox"
          class="form-checkbox"
          checked={value === "true"}
          onChange={(event) => onChange(String(event.currentTarget.checked))}
        />
      );
    case "constant":
      return (
        <label class="form-check">
          <input
            {...common}
            type="checkbox"
            checked={value !== ""}
            disabled={isRequired}
            onChange={(event) => onChange(event.currentTarget.checked ? "0" : "")}
          />
          <code>{visibleLine(JSON.stringify(node.value) ?? "")}</code>
        </label>
      );
    case "choice":
      return (
        <select {...common} value={value} onChange={onInput}>
          {(!isRequired || value === "") && <option value="">{isRequired ? "Select a value" : "not set"}</option>}
          {node.options.map((option, index) => (
            <option key={option.label} value={String(index)}>
              {visibleLine(option.label)}
            </option>
          ))}
        </select>
      );
    case "number":
      return (
        <input
          {...common}
          type="text"
          inputMode={node.isInteger ? "numeric" : "decimal"}
          value={value}
          onInput={onInput}
        />
      );
    case "json":
      return <textarea {...common} class="mono" rows={3} spellcheck={false} value={value} onInput={onInput} />;
    case "text":
      return <TextControl node={node} common={common} value={value} onInput={onInput} />;
    default:
      return <span />;
  }
}

function TextControl({
  node,
  common,
  value,
  onInput,
}: {
  readonly node: Extract<FormNode, { readonly kind: "text" }>;
  readonly common: { readonly id: string };
  readonly value: string;
  readonly onInput: (event: { readonly currentTarget: { readonly value: string } }) => void;
}): VNode {
  const { format, suggestions } = node;
  if (suggestions !== undefined) {
    const listId = `${common.id}-list`;
    return (
      <>
        <input {...common} type="text" list={listId} value={value} onInput={onInput} />
        <datalist id={listId}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </>
    );
  }
  if (format === undefined) {
    return <textarea {...common} class="form-text" rows={1} value={value} onInput={onInput} />;
  }
  if (format === "password")
    return <input {...common} type="password" autocomplete="off" value={value} onInput={onInput} />;
  if (format === "date") return <input {...common} type="date" value={value} onInput={onInput} />;
  return (
    <input
      {...common}
      type="text"
      placeholder={placeholders[format]}
      autocomplete="off"
      value={value}
      onInput={onInput}
    />
  );
}
