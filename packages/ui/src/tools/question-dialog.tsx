import "./question-dialog.css";
import { signal } from "@preact/signals";
import { render, type VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button, Copy, Dialog, Field, PropertyList } from "../design/index.js";
import { declineResponse, objectOf, type PendingQuestion, questions } from "../shell/mcp/index.js";
import { PromptMessages } from "./prompt-messages.js";
import { visibleLine, visibleText } from "./result/visible-text.js";
import { draftValue, type FormProblem } from "./schema-form/draft.js";
import { initialDraft } from "./schema-form/draft-of.js";
import { SchemaForm } from "./schema-form/schema-form.js";
import { schemaToForm } from "./schema-form/schema-to-form.js";
import { validateInWorker } from "./schema-form/validate-in-worker.js";
import { parseWebUrl } from "./web-url.js";

/** Questions that were closed without a response. The run offers them again. */
const closed = signal<ReadonlySet<number>>(new Set());

/** Opens the dialog of a question again. */
export function showQuestion(id: number): void {
  closed.value = new Set([...closed.peek()].filter((each) => each !== id));
}

let isMounted = false;

/** Shows questions above every view from now on: a run continues when its view is left. */
export function mountQuestions(): void {
  if (isMounted) return;
  isMounted = true;
  const place = document.createElement("div");
  document.body.append(place);
  render(<Questions />, place);
}

function Questions(): VNode | null {
  const open = questions.value.find(({ id }) => !closed.value.has(id));
  if (open === undefined) return null;
  return <Question key={open.id} question={open} />;
}

function Question({ question }: { readonly question: PendingQuestion }): VNode {
  if (question.method === "sampling/createMessage") return <SamplingDialog question={question} />;
  if (question.method !== "elicitation/create") return <UnknownDialog question={question} />;
  return question.params.mode === "url" ? <UrlDialog question={question} /> : <FormDialog question={question} />;
}

/** Closing a dialog does not respond: the question stays open until the person responds or cancels the run. */
function close(question: PendingQuestion): void {
  closed.value = new Set([...closed.peek(), question.id]);
}

function Asker({ question }: { readonly question: PendingQuestion }): VNode {
  const { server, name } = question.run.offer;
  return (
    <p class="soft">
      Server <strong>{visibleLine(server)}</strong> asks while <code>{visibleLine(name)}</code> runs. Do not enter
      passwords or tokens.
    </p>
  );
}

function Decline({
  question,
  action = "decline",
}: {
  readonly question: PendingQuestion;
  readonly action?: "decline" | "cancel";
}): VNode {
  return <Button onClick={() => question.respond(declineResponse(question.method, action))}>Decline</Button>;
}

/** The fields that a server asks for. */
function FormDialog({ question }: { readonly question: PendingQuestion }): VNode {
  const { requestedSchema, message } = question.params;
  const form = useMemo(() => schemaToForm(requestedSchema), [requestedSchema]);
  const [draft, setDraft] = useState(() => initialDraft(form));
  const [problems, setProblems] = useState<readonly FormProblem[]>([]);
  const accept = async (): Promise<void> => {
    const { value, problems: own } = draftValue(form, draft);
    const found = own.length > 0 ? own : ((await validateInWorker(requestedSchema, value)) ?? []);
    setProblems(found);
    if (found.length === 0) question.respond({ action: "accept", content: value });
  };
  return (
    <Dialog
      title={`${visibleLine(question.run.offer.server)} asks for input`}
      onClose={() => close(question)}
      actions={
        <>
          <Decline question={question} />
          <Button kind="primary" onClick={() => void accept()}>
            Send
          </Button>
        </>
      }
    >
      <p class="question-message">{visibleText(String(message ?? "").slice(0, 10_000))}</p>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void accept();
        }}
      >
        <SchemaForm node={form} draft={draft} problems={problems} onChange={setDraft} />
        <button type="submit" class="visually-hidden" tabIndex={-1} aria-hidden="true">
          Send
        </button>
      </form>
      <Asker question={question} />
    </Dialog>
  );
}

/** An address that the server asks the person to open. It is opened only by a click, and shown in full. */
function UrlDialog({ question }: { readonly question: PendingQuestion }): VNode {
  const { url, message } = question.params;
  const parsed = parseWebUrl(url);
  return (
    <Dialog
      title={`${visibleLine(question.run.offer.server)} asks you to open a page`}
      onClose={() => close(question)}
      actions={
        <>
          <Decline question={question} />
          {parsed !== undefined && (
            <a
              class="button button-primary"
              href={parsed.href}
              target="_blank"
              rel="noopener noreferrer"
              onClick={() => question.respond({ action: "accept" })}
            >
              Open {visibleLine(parsed.host, 60)}
            </a>
          )}
        </>
      }
    >
      <p class="question-message">{visibleText(String(message ?? "").slice(0, 10_000))}</p>
      {parsed === undefined ? (
        <p class="field-error">This address is not a web page: {visibleLine(String(url), 400)}</p>
      ) : (
        <p class="question-url">
          <code>
            {`${parsed.protocol}//`}
            <strong>{parsed.host}</strong>
            {visibleLine(parsed.rest, 4000)}
          </code>
          <Copy text={parsed.href} what="address" />
        </p>
      )}
      <Asker question={question} />
    </Dialog>
  );
}

/** A request for a model. The person reads it and writes the response: the page has no model. */
function SamplingDialog({ question }: { readonly question: PendingQuestion }): VNode {
  const { messages, systemPrompt, maxTokens, temperature, stopSequences, modelPreferences } = question.params;
  const [text, setText] = useState("");
  const hints = objectOf(modelPreferences).hints;
  const names = Array.isArray(hints) ? hints.map((hint) => String(objectOf(hint).name)).join(", ") : "";
  return (
    <Dialog
      title={`${visibleLine(question.run.offer.server)} asks for a model's response`}
      isWide
      onClose={() => close(question)}
      actions={
        <>
          <Decline question={question} />
          <Button
            kind="primary"
            isDisabled={text === ""}
            onClick={() =>
              question.respond({
                role: "assistant",
                content: { type: "text", text },
                model: "person",
                stopReason: "endTurn",
              })
            }
          >
            Send
          </Button>
        </>
      }
    >
      <PromptMessages messages={messages} />
      <PropertyList
        rows={[
          ["System prompt", typeof systemPrompt === "string" ? visibleText(systemPrompt.slice(0, 10_000)) : undefined],
          ["Tokens", typeof maxTokens === "number" ? `at most ${maxTokens}` : undefined],
          ["Temperature", typeof temperature === "number" ? String(temperature) : undefined],
          ["Stops at", Array.isArray(stopSequences) ? visibleLine(stopSequences.join(", ")) : undefined],
          ["Model", names === "" ? undefined : visibleLine(names)],
        ]}
      />
      <Field label="Your response" hint="It is sent as the response of the model.">
        {({ id, describedBy }) => (
          <textarea
            id={id}
            aria-describedby={describedBy}
            rows={5}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      <Asker question={question} />
    </Dialog>
  );
}

function UnknownDialog({ question }: { readonly question: PendingQuestion }): VNode {
  return (
    <Dialog
      title={`${visibleLine(question.run.offer.server)} sent a request that the page does not support`}
      onClose={() => close(question)}
      actions={<Decline question={question} />}
    >
      <code>{visibleLine(question.method)}</code>
      <Asker question={question} />
    </Dialog>
  );
}
