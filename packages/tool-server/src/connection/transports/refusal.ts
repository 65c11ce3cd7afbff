import type { CredentialRequest, Refusal } from "../../auth/credentials/credential.js";
import { diagnoseRefusal } from "../../auth/credentials/diagnose-refusal.js";
import type { HeaderFields } from "../../auth/credentials/header-fields.js";
import { isRefusal } from "../../auth/credentials/refusal-rules.js";
import { ToolServerError } from "../../errors.js";
import type { ResponseHeaders } from "../../http/http-client.js";
import type { RefusalCause, RefusalFinding } from "../../refusal-finding.js";
import type { TransportContext } from "./transport.js";

/** A request that was answered with 401 or 403. */
export interface RefusedRequest extends Pick<Refusal, "status" | "sent" | "attempt" | "signal"> {
  /** The headers of the response. */
  readonly answered: ResponseHeaders;
}

/** How many findings stand in a message; all stand in the details. */
const toldFindings = 3;

/**
 * Asks the credential what to do about a 401 or 403. Resolves where the request is to be sent once more, with the headers
 * that the credential gives now. Rejects with a first diagnosis where it failed for good: with the code that the credential
 * gives, else UNAUTHORIZED or FORBIDDEN.
 */
async function settleRefusal(context: TransportContext, request: RefusedRequest): Promise<void> {
  const { server, info, credential, secrets, report, clock } = context;
  const { status, sent, attempt, answered, signal } = request;
  const refusal: Refusal = {
    status,
    sent,
    attempt,
    challenge: answered["www-authenticate"],
    date: answered.date,
    dpopNonce: answered["dpop-nonce"],
    signal,
  };
  const decision = await credential.refused(refusal);
  if (decision.action === "retry") {
    report(info, "warning", `The server answered ${status}; asking once more, with what the credential gives now.`);
    return;
  }
  const findings = diagnoseRefusal({
    refusal,
    server,
    credential: credential.describe(),
    now: clock.now(),
    redact: (text) => secrets.redact(text),
  });
  const words =
    credential.kind === "oauth"
      ? // What OAuth says itself is not said twice, and what to do about it comes last.
        [...likeliest(findings.filter(({ cause }) => beyondOAuth(cause, sent))), decision.reason]
      : [decision.reason, ...likeliest(findings)];
  const parts = {
    subject: secrets.redact(`The server ${JSON.stringify(server)} refused the request.`),
    problem: secrets.redact(words.join(" ")),
    advice: secrets.redact(decision.advice ?? ""),
  };
  const code = decision.code ?? (status === 401 ? "UNAUTHORIZED" : "FORBIDDEN");
  const failure = new ToolServerError(code, parts, { details: { status, findings } });
  report(info, "error", failure.message);
  throw failure;
}

/** The head of a response. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** Lets the rest of it go. */
  discard?(): void;
}

/**
 * Asks with the headers that the credential gives, and once more where it has others after a refusal. Resolves with an
 * response that is no refusal. Rejects as `ask`, the credential and `settleRefusal` do.
 */
export async function askWithCredential<Response extends AnswerHead>(
  context: TransportContext,
  ask: (headers: HeaderFields) => Promise<Response>,
  request: CredentialRequest,
): Promise<Response> {
  const sent = await context.credential.headers(request);
  const response = await ask(sent);
  return isRefusal(response.status) ? askAgain(context, ask, request, { sent, response }) : response;
}

/** Asks again after a refusal, as `askWithCredential` does. */
export async function askAgain<Response extends AnswerHead>(
  context: TransportContext,
  ask: (headers: HeaderFields) => Promise<Response>,
  request: CredentialRequest,
  first: { readonly sent: HeaderFields; readonly response: Response },
): Promise<Response> {
  const { signal } = request;
  let { sent, response } = first;
  for (let attempt = 1; isRefusal(response.status); attempt += 1) {
    response.discard?.();
    await settleRefusal(context, { status: response.status, sent, attempt, answered: response.headers, signal });
    sent = await context.credential.headers(request);
    response = await ask(sent);
  }
  return response;
}

/** What explains a refusal where anything does, else what to check first. */
function likeliest(findings: readonly RefusalFinding[]): string[] {
  const explaining = findings.filter(({ weight }) => weight === "explains");
  return (explaining.length > 0 ? explaining : findings).slice(0, toldFindings).map(({ message }) => message);
}

/** Whether a cause is news to who signs in by OAuth: where nothing was sent, nothing else matters. */
function beyondOAuth(cause: RefusalCause, sent: HeaderFields): boolean {
  return Object.keys(sent).length > 0 && cause !== "scope-missing";
}
