import { type CredentialRequest, isRefusal, type Refusal } from "../../auth/credentials/credential.js";
import type { HeaderFields } from "../../auth/credentials/header-fields.js";
import { collectRefusalEvidence } from "../../auth/credentials/refusal-evidence.js";
import type { CallPhases } from "../../call-phases.js";
import { type Cause, foundWeight } from "../../causes/cause-table.js";
import { formatFix } from "../../causes/fixes.js";
import { explainRefusal } from "../../causes/refusal-causes.js";
import { describeChallenge } from "../../causes/refusal-evidence.js";
import { ToolServerError } from "../../errors.js";
import type { ResponseHeaders } from "../../http/http-client.js";
import { quotedText } from "../../printable-text.js";
import type { NetworkContext } from "./transport.js";

/** How many causes an error message contains; the details have them all. */
const maxCausesInMessage = 3;
/** The maximum length of the quoted message of an application's error. */
const maxSaid = 500;

/**
 * Asks the credential what to do about a 401 or 403. Resolves if the request is to be sent once more, with the current headers
 * of the credential. Rejects with the likeliest causes if it failed for good: with the code of the credential, otherwise
 * UNAUTHORIZED or FORBIDDEN.
 */
async function handleRefusal(context: NetworkContext, refusal: Refusal): Promise<void> {
  const { server, url, info, credential, secrets, report, clock } = context;
  const { status, sent, signal } = refusal;
  const decision = await credential.refused(refusal).catch((error: unknown) => {
    throw credentialFailure(error, context, signal);
  });
  if (decision.action === "retry") {
    report(info, "warning", `The server returned ${status}; retrying with new headers from the credential.`);
    return;
  }
  // The text of the server in it is redacted where it is quoted.
  const redactOwn = (text: string): string => secrets.redact(text, "own");
  const now = clock.now();
  const evidence = collectRefusalEvidence({
    refusal,
    credential: credential.describe(),
    url,
    now,
    redact: secrets.redact,
  });
  const causes = explainRefusal(evidence, { server });
  const isOAuth = credential.kind === "oauth";
  // OAuth has its own diagnosis of a missing token or scope, and its own advice; a vague guess would only distract from it.
  const isCertain = ({ code, weight }: Cause): boolean =>
    Object.keys(sent).length > 0 && weight >= 0.5 && !oauthCodes.has(code);
  const shown = likeliest(isOAuth ? causes.filter(isCertain) : causes);
  const problems = shown.map(({ problem }) => problem);
  const [first] = shown;
  const parts = {
    subject: redactOwn(`The server ${JSON.stringify(server)} refused the request.`),
    problem: redactOwn([decision.reason, ...problems].join(" ")),
    evidence: isOAuth ? "" : describeChallenge(evidence).join(" "),
    advice: redactOwn(decision.advice || (isOAuth || first === undefined ? "" : formatFix(first.fix))),
  };
  const code = decision.code ?? (status === 401 ? "UNAUTHORIZED" : "FORBIDDEN");
  const details = { status, causes, refusal: evidence, ...(decision.signIn && { signIn: decision.signIn }) };
  const failure = new ToolServerError(code, parts, { details });
  report(info, "error", failure.message);
  throw failure;
}

/** A request with the headers of a credential. */
interface ObservedCredentialRequest extends CredentialRequest {
  /** Receives how long the request waits for the credential. Default: nothing does. */
  readonly phases?: CallPhases | undefined;
}

/** The headers of the credential, which may have to be obtained first. */
export async function awaitHeaders(context: NetworkContext, request: ObservedCredentialRequest): Promise<HeaderFields> {
  request.phases?.begin("credential", context.info.connection);
  return obtainHeaders(context, request);
}

/** Obtains the headers, and ends the phase of the credential. */
async function obtainHeaders(
  context: NetworkContext,
  { phases, ...request }: ObservedCredentialRequest,
): Promise<HeaderFields> {
  let headers: HeaderFields;
  try {
    headers = await context.credential.headers(request);
  } catch (error) {
    throw credentialFailure(error, context, request.signal);
  }
  phases?.end("credential");
  return headers;
}

/**
 * The failure of a credential. A vault, a sign-in or a secret may be functions of the application, which throw errors of their own: without
 * a code, these would be reported as an invalid response of the server. A server that refused the request did not run it either.
 */
function credentialFailure(
  error: unknown,
  { server, secrets }: Pick<NetworkContext, "server" | "secrets">,
  signal: CredentialRequest["signal"],
): unknown {
  if (ToolServerError.is(error) || signal?.aborted) return error;
  const said = secrets.redact(error instanceof Error ? error.message : String(error));
  const parts = {
    subject: `The credential for the server ${JSON.stringify(server)} cannot be obtained.`,
    problem: `The application failed with ${quotedText(said, maxSaid)}.`,
    advice:
      "Check the vault, the sign-in and the client secret that the application passed; `cause` is the original error.",
  };
  return new ToolServerError("CREDENTIAL_UNUSABLE", parts, { cause: error, details: { wasSent: false } });
}

/** The status and headers of a response. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  discard?(): void;
}

/**
 * Sends a request with the credential's headers, and again if the credential has others after a 401 or 403. Resolves with a
 * response of any other status. Rejects as `send`, the credential and `handleRefusal` do.
 */
export async function sendWithCredential<Response extends ResponseHead>(
  context: NetworkContext,
  send: (headers: HeaderFields) => Promise<Response>,
  request: ObservedCredentialRequest,
): Promise<Response> {
  const sent = await awaitHeaders(context, request);
  const response = await send(sent);
  return isRefusal(response.status) ? retryRefused(context, send, request, { sent, response }) : response;
}

/** Retries after a 401 or 403, as `sendWithCredential` does. */
export async function retryRefused<Response extends ResponseHead>(
  context: NetworkContext,
  send: (headers: HeaderFields) => Promise<Response>,
  request: ObservedCredentialRequest,
  first: { readonly sent: HeaderFields; readonly response: Response },
): Promise<Response> {
  const { signal, phases } = request;
  let { sent, response } = first;
  for (let attempt = 1; isRefusal(response.status); attempt += 1) {
    response.discard?.();
    phases?.retry(`The server returned ${response.status}.`);
    phases?.begin("credential", context.info.connection);
    const { "www-authenticate": challenge, date, "dpop-nonce": dpopNonce } = response.headers;
    const { status } = response;
    await handleRefusal(context, { status, sent, attempt, challenge, date, dpopNonce, signal });
    sent = await obtainHeaders(context, request);
    response = await send(sent);
  }
  return response;
}

/** The causes that count as found, otherwise the likeliest of the others. */
function likeliest(causes: readonly Cause[]): readonly Cause[] {
  const found = causes.filter(({ weight }) => weight >= foundWeight);
  return (found.length > 0 ? found : causes).slice(0, maxCausesInMessage);
}

const oauthCodes: ReadonlySet<string> = new Set(["sign-in-needed", "scope-missing", "permission-missing"]);
