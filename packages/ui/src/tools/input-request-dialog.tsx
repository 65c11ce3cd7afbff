import "./input-request-dialog.css";
import { signal } from "@preact/signals";
import { render, type VNode } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Button, Copy, Dialog, Field, PropertyList } from "../design/index.js";
import { visibleLine, visibleText } from "../design/visible-text.js";
import { declineResponse, inputRequests, objectOf, type PendingInputRequest } from "../shell/mcp/index.js";
import { PromptMessages } from "./prompt-messages.js";
import { draftValue, type FormProblem } from "./schema-form/draft.js";
import { initialDraft } from "./schema-form/draft-of.js";
import { SchemaForm } from "./schema-form/schema-form.js";
import { schemaToForm } from "./schema-form/schema-to-form.js";
import { validateInWorker } from "./schema-form/validate-in-worker.js";
import { parseWebUrl } from "./web-url.js";

/** Input requests whose dialog was closed without a response. The run offers them again. */
const closed = signal<ReadonlySet<number>>(new Set());

/** Opens the dialog of an input request again. */
export function showInputRequest(id: number): void {
  closed.value = new Set([...closed.peek()].filter((each) => each !== id));
}

let isMounted = false;

/** Shows input requests above every view from now on: a run continues when the user leaves its view. */
export function mountInputRequests(): void {
  if (isMounted) return;
  isMounted = true;
  const place = document.createElement("div");
  document.body.append(place);
  render(<OpenInputRequest />, place);
}

function OpenInputRequest(): VNode | null {
  const open = inputRequests.value.find(({ id }) => !closed.value.has(id));
  if (open === undefined) return null;
  return <InputRequestDialog key={open.id} request={open} />;
}

function InputRequestDialog({ request }: { readonly request: PendingInputRequest }): VNode {
  if (request.method === "sampling/createMessage") return <SamplingDialog request={request} />;
  if (request.method !== "elicitation/create") return <UnknownDialog request={request} />;
  return request.params.mode === "url" ? <UrlDialog request={request} /> : <FormDialog request={request} />;
}

/** Closing a dialog is not a response: the request stays open until the user responds or cancels the run. */
function close(request: PendingInputRequest): void {
  closed.value = new Set([...closed.peek(), request.id]);
}

function Requester({ request }: { readonly request: PendingInputRequest }): VNode {
  const { server, name } = request.run.offer;
  return (
    <p class="soft">
      Requested by server <strong>{visibleLine(server)}</strong> while <code>{visibleLine(name)}</code> runs. Do not
      enter passwords or tokens.
    </p>
  );
}

function Decline({
  request,
  action = "decline",
}: {
  readonly request: PendingInputRequest;
  readonly action?: "decline" | "cancel";
}): VNode {
  return <Button onClick={() => request.respond(declineResponse(request.method, action))}>Decline</Button>;
}

/** A form for the requested fields. */
function FormDialog({ request }: { readonly request: PendingInputRequest }): VNode {
  const { requestedSchema, message } = request.params;
  const form = useMemo(() => schemaToForm(requestedSchema), [requestedSchema]);
  const [draft, setDraft] = useState(() => initialDraft(form));
  const [problems, setProblems] = useState<readonly FormProblem[]>([]);
  const accept = async (): Promise<void> => {
    const { value, problems: own } = draftValue(form, draft);
    const found = own.length > 0 ? own : ((await validateInWorker(requestedSchema, value)) ?? []);
    setProblems(found);
    if (found.length === 0) request.respond({ action: "accept", content: value });
  };
  return (
    <Dialog
      title={`${visibleLine(request.run.offer.server)} asks for input`}
      onClose={() => close(request)}
      actions={
        <>
          <Decline request={request} />
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
      <Requester request={request} />
    </Dialog>
  );
}

/** A URL that the server asks the user to open. It is opened only by a click, and shown in full. */
function UrlDialog({ request }: { readonly request: PendingInputRequest }): VNode {
  const { url, message } = request.params;
  const parsed = parseWebUrl(url);
  return (
    <Dialog
      title={`${visibleLine(request.run.offer.server)} asks you to open a page`}
      onClose={() => close(request)}
      actions={
        <>
          <Decline request={request} />
          {parsed !== undefined && (
            <a
              class="button button-primary"
              href={parsed.href}
              target="_blank"
              rel="noopener noreferrer"
              onClick={() => request.respond({ action: "accept" })}
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
      <Requester request={request} />
    </Dialog>
  );
}

/** A sampling request. The user reads it and writes the response: the page has no model. */
function SamplingDialog({ request }: { readonly request: PendingInputRequest }): VNode {
  const { messages, systemPrompt, maxTokens, temperature, stopSequences, modelPreferences } = request.params;
  const [text, setText] = useState("");
  const hints = objectOf(modelPreferences).hints;
  const names = Array.isArray(hints) ? hints.map((hint) => String(objectOf(hint).name)).join(", ") : "";
  return (
    <Dialog
      title={`${visibleLine(request.run.offer.server)} asks for a model's response`}
      isWide
      onClose={() => close(request)}
      actions={
        <>
          <Decline request={request} />
          <Button
            kind="primary"
            isDisabled={text === ""}
            onClick={() =>
              request.respond({
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
          ["Max tokens", typeof maxTokens === "number" ? String(maxTokens) : undefined],
          ["Temperature", typeof temperature === "number" ? String(temperature) : undefined],
          ["Stop sequences", Array.isArray(stopSequences) ? visibleLine(stopSequences.join(", ")) : undefined],
          ["Model", names === "" ? undefined : visibleLine(names)],
        ]}
      />
      <Field label="Your response" hint="It is sent as the model's response.">
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
      <Requester request={request} />
    </Dialog>
  );
}

function UnknownDialog({ request }: { readonly request: PendingInputRequest }): VNode {
  return (
    <Dialog
      title={`${visibleLine(request.run.offer.server)} sent a request that the page does not support`}
      onClose={() => close(request)}
      actions={<Decline request={request} />}
    >
      <code>{visibleLine(request.method)}</code>
      <Requester request={request} />
    </Dialog>
  );
}
