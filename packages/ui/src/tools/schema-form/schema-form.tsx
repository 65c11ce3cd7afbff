import "./schema-form.css";
import type { VNode } from "preact";
import { useId } from "preact/hooks";
import { Button, Field } from "../../design/index.js";
import { visibleLine, visibleText } from "../../design/visible-text.js";
import { type Draft, escapeStep, type FormProblem, isVariantDraft } from "./draft.js";
import { initialDraft } from "./draft-of.js";
import type { FormNode, NodeOf } from "./form-node.js";
import type { NodeProps } from "./node-props.js";
import { ScalarField } from "./scalar-field.js";

export interface SchemaFormProps {
  readonly node: FormNode;
  readonly draft: Draft;
  readonly problems: readonly FormProblem[];
  readonly onChange: (draft: Draft) => void;
}

/** The fields of a form. Each shows the errors of its own value; other errors are shown above them. */
export function SchemaForm({ node, draft, problems, onChange }: SchemaFormProps): VNode {
  const own = problems.filter(({ pointer }) => pointer === "");
  const common = { draft, problems, onChange, label: "Arguments", isRequired: true, pointer: "" };
  return (
    <div class="schema-form">
      {own.map(({ message }) => (
        <p key={message} class="field-error" role="alert">
          {visibleLine(message, 400)}
        </p>
      ))}
      {node.kind === "group" ? <GroupFields {...common} node={node} /> : <NodeField {...common} node={node} />}
    </div>
  );
}

function GroupFields({ node, draft, pointer, problems, onChange }: NodeProps<NodeOf<"group">>): VNode {
  const drafts: readonly Draft[] = Array.isArray(draft) ? draft : [];
  if (node.fields.length === 0) return <p class="soft">No arguments.</p>;
  return (
    <>
      {node.fields.map(({ name, isRequired, node: field }, index) => (
        <NodeField
          key={name}
          node={field}
          draft={drafts[index] ?? ""}
          label={name}
          isRequired={isRequired}
          pointer={`${pointer}/${escapeStep(name)}`}
          problems={problems}
          onChange={(changed) => onChange(node.fields.map((_, at) => (at === index ? changed : (drafts[at] ?? ""))))}
        />
      ))}
    </>
  );
}

function NodeField(props: NodeProps): VNode {
  const { node } = props;
  switch (node.kind) {
    case "group":
      return (
        <Fieldset {...props}>
          <GroupFields {...props} node={node} />
        </Fieldset>
      );
    case "list":
      return <ListField {...props} node={node} />;
    case "choices":
      return <ChoicesField {...props} node={node} />;
    case "variants":
      return <VariantsField {...props} node={node} />;
    default:
      return <ScalarField {...props} />;
  }
}

function Fieldset({
  node,
  label,
  isRequired,
  pointer,
  problems,
  children,
}: NodeProps & { readonly children: unknown }): VNode {
  const own = problems.filter((problem) => problem.pointer === pointer);
  return (
    <fieldset class="form-group">
      <legend>
        {visibleLine(node.title ?? label)}
        {isRequired ? <span class="form-required"> required</span> : null}
      </legend>
      {node.description !== undefined && <p class="field-hint">{visibleText(node.description)}</p>}
      {own.map(({ message }) => (
        <p key={message} class="field-error">
          {visibleLine(message, 400)}
        </p>
      ))}
      {children as VNode}
    </fieldset>
  );
}

function ListField(props: NodeProps<NodeOf<"list">>): VNode {
  const { node, draft, label, pointer, problems, onChange } = props;
  const items: readonly Draft[] = Array.isArray(draft) ? draft : [];
  const name = visibleLine(node.title ?? label);
  return (
    <Fieldset {...props}>
      {items.map((item, index) => (
        <div key={index} class="form-item">
          <NodeField
            node={node.item}
            draft={item}
            label={`${name} ${index + 1}`}
            isRequired
            pointer={`${pointer}/${index}`}
            problems={problems}
            onChange={(changed) => onChange(items.map((each, at) => (at === index ? changed : each)))}
          />
          <Button kind="quiet" isSmall onClick={() => onChange(items.filter((_, at) => at !== index))}>
            Remove <span class="visually-hidden">{`${name} ${index + 1}`}</span>
          </Button>
        </div>
      ))}
      <div>
        <Button
          isSmall
          isDisabled={items.length >= node.maxItems}
          onClick={() => onChange([...items, initialDraft(node.item)])}
        >
          Add <span class="visually-hidden">to {name}</span>
        </Button>
      </div>
    </Fieldset>
  );
}

function ChoicesField(props: NodeProps<NodeOf<"choices">>): VNode {
  const { node, draft, onChange } = props;
  const chosen = new Set(Array.isArray(draft) ? draft : []);
  const toggle = (index: string): void => {
    if (chosen.has(index)) chosen.delete(index);
    else chosen.add(index);
    onChange([...chosen].sort((one, other) => Number(one) - Number(other)));
  };
  return (
    <Fieldset {...props}>
      {node.options.map((option, index) => (
        <label key={String(index)} class="form-check">
          <input type="checkbox" checked={chosen.has(String(index))} onChange={() => toggle(String(index))} />
          {visibleLine(option.label)}
        </label>
      ))}
    </Fieldset>
  );
}

/** The value that distinguishes a form from its alternatives. */
function constantOf(node: FormNode): string | undefined {
  const fields = node.kind === "group" ? node.fields : [];
  const value = fields.flatMap(({ node: field }) => (field.kind === "constant" ? [field.value] : []))[0];
  return value === undefined ? undefined : String(value);
}

function VariantsField(props: NodeProps<NodeOf<"variants">>): VNode {
  const { node, draft, label, isRequired, pointer, problems, onChange } = props;
  const { variant, draft: inner } = isVariantDraft(draft) ? draft : { variant: -1, draft: "" };
  const chosen = node.variants[variant];
  const select = (next: number): void => {
    const variantNode = node.variants[next];
    onChange({ variant: next, draft: variantNode === undefined ? "" : initialDraft(variantNode) });
  };
  const id = useId();
  return (
    <Fieldset {...props}>
      <Field label="Kind">
        {({ id: controlId, describedBy }) => (
          <select
            id={controlId}
            aria-describedby={describedBy}
            value={String(variant)}
            onChange={(event) => select(Number(event.currentTarget.value))}
          >
            {(!isRequired || node.isNullable || variant < 0) && <option value="-1">not set</option>}
            {node.variants.map((each, index) => (
              <option key={`${id}${String(index)}`} value={String(index)}>
                {visibleLine(each.title ?? constantOf(each) ?? `${each.kind} (${index + 1})`)}
              </option>
            ))}
          </select>
        )}
      </Field>
      {chosen?.kind === "group" ? (
        <GroupFields
          {...props}
          node={chosen}
          draft={inner}
          onChange={(changed) => onChange({ variant, draft: changed })}
        />
      ) : (
        chosen !== undefined && (
          <NodeField
            node={{ ...chosen, title: chosen.title ?? "Value" }}
            draft={inner}
            label={label}
            isRequired
            pointer={pointer}
            problems={problems}
            onChange={(changed) => onChange({ variant, draft: changed })}
          />
        )
      )}
    </Fieldset>
  );
}
