import { signal } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { Button, Copy, Field, Tabs } from "../design/index.js";
import { visibleLine } from "../design/visible-text.js";
import { isSecretInput, keepInTab, keptInTab, type Offer, type Run, runs, startRun } from "../shell/mcp/index.js";
import { address, setQuery } from "../shell/routing/index.js";
import { AppFrame, appUriOf } from "./app/app-frame.js";
import { commandLine } from "./command-line.js";
import { OfferHeader } from "./offer-header.js";
import { RunView } from "./run-view.js";
import { type Draft, draftValue, type FormProblem, requiredMessage } from "./schema-form/draft.js";
import { draftOf, initialDraft, jsonText } from "./schema-form/draft-of.js";
import { SchemaForm } from "./schema-form/schema-form.js";
import { schemaToForm } from "./schema-form/schema-to-form.js";
import { validateInWorker } from "./schema-form/validate-in-worker.js";

/** The input for a tool. It is kept when the user opens another view. */
interface ToolInput {
  readonly mode: "form" | "json";
  readonly draft: Draft;
  readonly json: string;
}

const inputs = signal<ReadonlyMap<string, ToolInput>>(new Map(keptInTab<[string, ToolInput][]>("inputs")));
/** Tools whose input is not stored. */
const secretKeys = new Set<string>();
keepInTab("inputs", () => [...inputs.peek()].filter(([key]) => !secretKeys.has(key)).reverse());

/** A tool: its form, and the result of its latest run. */
export function ToolDetail({ offer }: { readonly offer: Offer }): VNode {
  const { inputSchema } = offer.definition;
  const form = useMemo(() => schemaToForm(inputSchema), [inputSchema]);
  const [problems, setProblems] = useState<readonly FormProblem[]>([]);
  const [isUnchecked, setUnchecked] = useState(false);
  const [isChecking, setChecking] = useState(false);
  const [shownId, setShownId] = useState<number>();
  const initial: ToolInput = { mode: form.kind === "json" ? "json" : "form", draft: initialDraft(form), json: "{}" };
  const input = inputs.value.get(offer.key) ?? initial;
  if (isSecretInput(inputSchema)) secretKeys.add(offer.key);
  const setInput = (changes: Partial<ToolInput>): void => {
    inputs.value = new Map(inputs.peek()).set(offer.key, { ...input, ...changes });
  };
  const own = runs.value.filter((run) => run.offer.key === offer.key && run.offer.kind === "tool");
  const shown = own.find(({ id }) => id === shownId) ?? own[0];

  const typed = (): { readonly value: unknown; readonly problems: readonly FormProblem[] } => {
    if (input.mode === "form") return draftValue(form, input.draft);
    return draftValue({ kind: "json" }, input.json.trim() === "" ? "{}" : input.json);
  };
  const call = (args: unknown): void => setShownId(startRun(offer, "tools/call", { name: offer.key, arguments: args }));
  const resultRef = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (shownId !== undefined) resultRef.current?.scrollIntoView({ block: "nearest" });
  }, [shownId, shown?.status]);
  const formRef = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // Also an error of a part that has no field of its own.
    const first = formRef.current?.querySelector<HTMLElement>('[aria-invalid="true"], .field-error');
    first?.scrollIntoView({ block: "nearest" });
    first?.focus({ preventScroll: true });
  }, [problems]);
  const run = async (): Promise<void> => {
    const { value, problems: own } = typed();
    setProblems(own);
    setUnchecked(false);
    if (own.length > 0) return;
    setChecking(true);
    const found = await validateInWorker(inputSchema, value);
    setChecking(false);
    setProblems(found ?? []);
    setUnchecked(found === undefined);
    if (found === undefined || found.length === 0) call(value);
  };
  const switchTo = (mode: ToolInput["mode"]): void => {
    setProblems([]);
    if (mode === "json") {
      setInput({ mode, json: jsonText(draftValue(form, input.draft).value) ?? "{}" });
      return;
    }
    const { value, problems: wrong } = typed();
    const draft = wrong.length > 0 ? undefined : draftOf(form, value);
    if (draft === undefined) {
      setProblems(wrong.length > 0 ? wrong : [{ pointer: "", message: "The form has no fields for this value." }]);
    } else setInput({ mode, draft });
  };
  const fillIn = (value: unknown): void => {
    const draft = draftOf(form, value);
    if (draft === undefined) setInput({ mode: "json", json: jsonText(value) ?? "{}" });
    else setInput({ mode: "form", draft });
  };
  const reuse = ({ params, id }: Run): void => {
    setShownId(id);
    fillIn(params.arguments);
  };
  // A link, such as from a call, fills in the form and never runs the tool.
  const given = address.value.query.get("arguments");
  useEffect(() => {
    if (given === null) return;
    const value = parseJson(given);
    if (value !== undefined) fillIn(value);
    setQuery({ arguments: undefined });
  }, [given]);
  const command = commandLine({ offer, method: "tools/call", params: { arguments: typed().value } });
  const appUri = appUriOf(offer);
  return (
    <article class="detail">
      <OfferHeader offer={offer} />
      <form
        class="detail-form"
        ref={formRef}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void run();
        }}
      >
        {form.kind !== "json" && (form.kind !== "group" || form.fields.length > 0) && (
          <Tabs
            label="Input"
            tabs={[
              { key: "form", title: "Form" },
              { key: "json", title: "JSON" },
            ]}
            selected={input.mode}
            onSelect={switchTo}
          />
        )}
        {input.mode === "form" ? (
          <SchemaForm node={form} draft={input.draft} problems={problems} onChange={(draft) => setInput({ draft })} />
        ) : (
          <JsonInput json={input.json} problems={problems} onChange={(json) => setInput({ json })} />
        )}
        <div class="detail-actions">
          <Button kind="primary" type="submit" needsServer isDisabled={isChecking}>
            Run
          </Button>
          {problems.length > 0 ? (
            <span class="field-error" role="alert">
              {problemSummary(problems)}
            </span>
          ) : (
            <span class="soft detail-key">Ctrl+Enter</span>
          )}
          {command !== undefined && (
            <span class="detail-command">
              <code>{visibleLine(command, 400)}</code>
              <Copy text={command} what="command" />
            </span>
          )}
          {isUnchecked && (
            <span class="soft">
              The schema of this tool could not be evaluated here; the server validates the arguments.
            </span>
          )}
        </div>
      </form>
      {shown !== undefined && (
        <div ref={resultRef}>
          <RunView run={shown} runs={own} onShow={setShownId} onReuse={reuse}>
            {appUri !== undefined && shown.status !== "cancelled" && (
              <AppFrame key={shown.id} offer={offer} uri={appUri} run={shown} />
            )}
          </RunView>
        </div>
      )}
    </article>
  );
}

/** How many fields need a value, or another one. */
function problemSummary(problems: readonly FormProblem[]): string {
  const fields = new Set(problems.map(({ pointer }) => pointer)).size;
  const isMissing = problems.every(({ message }) => message === requiredMessage);
  return `${fields} ${fields === 1 ? "field needs" : "fields need"} ${isMissing ? "a value" : "a valid value"}.`;
}

/** The arguments as JSON, with their validation errors. */
function JsonInput({
  json,
  problems,
  onChange,
}: {
  readonly json: string;
  readonly problems: readonly FormProblem[];
  readonly onChange: (json: string) => void;
}): VNode {
  const error = problems.map(({ pointer, message }) => `${pointer === "" ? "" : `${pointer}: `}${message}`).join("\n");
  const listId = useId();
  return (
    <Field label="Arguments" error={error === "" ? undefined : error}>
      {({ id, describedBy }) => (
        <textarea
          id={id}
          key={listId}
          class="mono detail-json"
          rows={8}
          spellcheck={false}
          aria-describedby={describedBy}
          aria-invalid={error === "" ? undefined : "true"}
          value={json}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
