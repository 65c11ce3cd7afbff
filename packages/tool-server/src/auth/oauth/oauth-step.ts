import { messageOf } from "../../errors.js";
import type { HttpRequest, ResponseHeaders } from "../../http/http-client.js";
import { parseJsonObject } from "../../json-object.js";
import { printableText } from "../../printable-text.js";
import { createSecretRegistry, type SecretRegistry } from "../../secrets/redactor.js";
import { parseUrl } from "../../url.js";

/** One step of an OAuth flow. It contains no secret, its size is bounded, and its text is safe for a terminal. */
export interface OAuthStep {
  /** What was requested or decided, such as `authorization server metadata`. */
  readonly name: string;
  /** `skipped`: nothing was found at this url, or the request was only planned. */
  readonly outcome: "ok" | "failed" | "skipped";
  /** Whether the request would be sent next, and was not. */
  readonly isPlanned?: boolean | undefined;
  readonly method?: string | undefined;
  /** Without its query, whose parameters are in `sent`. */
  readonly url?: string | undefined;
  readonly sent?: OAuthStepFields | undefined;
  /** The HTTP status of the response. */
  readonly status?: number | undefined;
  readonly received?: OAuthStepFields | undefined;
  readonly durationMs?: number | undefined;
  /** Why there is no response. */
  readonly failure?: string | undefined;
}

/** Parameters, headers or JSON fields, with secrets replaced. */
export type OAuthStepFields = Readonly<Record<string, string>>;

const maxFields = 60;
const maxNameLength = 80;
const maxValueLength = 300;
const redacted = "[redacted]";

/** A request or a response whose step is reported. */
export interface StepMessage {
  readonly name: string;
  readonly request: Pick<HttpRequest, "url" | "headers" | "body"> & {
    readonly method: string;
    /** Whether another document is tried if this one does not exist, so that its absence is no failure. Default false. */
    readonly isSearch?: boolean | undefined;
  };
  readonly response?: { readonly status: number; readonly headers: ResponseHeaders; readonly body?: string };
  readonly durationMs?: number;
  readonly failure?: unknown;
  /** The statuses that the flow continues with, in addition to those of success. */
  readonly expects?: readonly number[];
}

/** The errors of a token endpoint after which the same request is sent again. */
const pendingErrors = ["authorization_pending", "slow_down", "use_dpop_nonce"];

/** The step of a request: sent, failed, or only planned if it has neither a response nor a failure. */
export function requestStep(secrets: Pick<SecretRegistry, "redact">, message: StepMessage): OAuthStep {
  const { name, request, response, durationMs, failure, expects = [] } = message;
  const { method, url } = request;
  const isPlanned = response === undefined && failure === undefined;
  const isOk = response !== undefined && (response.status < 400 || expects.includes(response.status));
  const isMissing = request.isSearch === true && response !== undefined && response.status < 500;
  const isRepeated = pendingErrors.includes(String(parseJsonObject(response?.body ?? "")?.error));
  return {
    name,
    outcome: isOk ? "ok" : isPlanned || isMissing || isRepeated ? "skipped" : "failed",
    ...(isPlanned ? { isPlanned } : {}),
    method,
    url: shownUrl(secrets, url),
    sent: stepFields(secrets, sentFields(request)),
    ...(response === undefined
      ? {}
      : { status: response.status, received: stepFields(secrets, receivedFields(secrets, url, response)) }),
    ...(durationMs === undefined ? {} : { durationMs: Math.round(durationMs) }),
    ...(failure === undefined ? {} : { failure: shown(secrets, messageOf(failure), 1000) }),
  };
}

/** Redacts fields for a step: a field with the name of a secret keeps only its name. */
export function stepFields(
  secrets: Pick<SecretRegistry, "redact">,
  fields: Readonly<Record<string, unknown>>,
): OAuthStepFields {
  // The value of a secret field is also replaced in the other fields, because nothing has registered it yet.
  const local = createSecretRegistry();
  collectSecrets(fields, local, 0);
  const all = Object.entries(fields);
  const pairs = all.slice(0, maxFields).map(([name, value]): [string, string] => {
    const text = isSecretField(name) ? redacted : typeof value === "string" ? value : jsonText(value);
    return [shown(local, secrets.redact(name), maxNameLength), shown(secrets, local.redact(text), maxValueLength)];
  });
  if (all.length > maxFields) pairs.push(["…", `${all.length - maxFields} more fields`]);
  return Object.fromEntries(pairs);
}

function shownUrl(secrets: Pick<SecretRegistry, "redact">, { origin, pathname }: URL): string {
  return shown(secrets, `${origin}${pathname}`, maxValueLength);
}

function sentFields({ url, headers = {}, body }: StepMessage["request"]): Record<string, unknown> {
  const { authorization, dpop } = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const text = typeof body === "string" ? body : "";
  return {
    ...(authorization === undefined ? {} : { Authorization: `${/^\S*/.exec(String(authorization))?.[0]} ${redacted}` }),
    ...(dpop === undefined ? {} : { DPoP: redacted }),
    ...Object.fromEntries(url.searchParams),
    ...(parseJsonObject(text) ?? Object.fromEntries(new URLSearchParams(text))),
  };
}

/** Headers that explain a response; others, such as cookies, are never shown. */
const shownHeaders = ["www-authenticate", "retry-after"];

function receivedFields(
  secrets: Pick<SecretRegistry, "redact">,
  url: URL,
  { headers, body }: NonNullable<StepMessage["response"]>,
): Record<string, unknown> {
  const target = parseUrl(headers.location ?? "", url);
  const json = body === undefined ? undefined : parseJsonObject(body);
  return {
    ...Object.fromEntries(shownHeaders.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]]))),
    ...(headers.location === undefined || target === undefined ? {} : { location: shownUrl(secrets, target) }),
    ...(json ?? (body === undefined || body === "" ? {} : { body: bodyText(headers, body) })),
  };
}

function bodyText(headers: ResponseHeaders, body: string): string {
  return `${headers["content-type"] ?? "unknown type"}, ${Buffer.byteLength(body)} bytes, not a JSON object`;
}

const secretName =
  /^(?:code|state|nonce|authorization|dpop|dpop_nonce|code_challenge|device_code|user_code|verification_uri_complete|session_state|id_token_hint)$|(?:^|_)(?:token|secret|password|passwd|cookie|cookie2|assertion|verifier|api_key|private_key)$/;

/** Whether a field has a secret, by its name in any spelling. */
function isSecretField(name: string): boolean {
  return secretName.test(
    name
      .replace(/([a-z\d])([A-Z])/g, "$1_$2")
      .toLowerCase()
      .replaceAll("-", "_"),
  );
}

const maxDepth = 4;

function collectSecrets(value: unknown, registry: SecretRegistry, depth: number, isSecret = false): void {
  if (typeof value === "string") {
    // A shorter one would replace parts of words.
    if (isSecret && value.length >= 8 && value !== redacted) registry.add(value);
  } else if (typeof value === "object" && value !== null && depth < maxDepth) {
    for (const [name, each] of Object.entries(value).slice(0, maxFields)) {
      collectSecrets(each, registry, depth + 1, isSecret || (!Array.isArray(value) && isSecretField(name)));
    }
  }
}

function jsonText(value: unknown): string {
  return JSON.stringify(withinDepth(value, 0)) ?? "";
}

/** A copy without secret fields and without what is nested too deeply, which would exhaust the stack. */
function withinDepth(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth === maxDepth) return "…";
  if (Array.isArray(value)) return value.map((each) => withinDepth(each, depth + 1));
  const fields = Object.entries(value);
  return Object.fromEntries(
    fields.map(([name, each]) => [name, isSecretField(name) ? redacted : withinDepth(each, depth + 1)]),
  );
}

/** Text of a peer: without registered secrets, named ones (`code=…`) and JSON Web Tokens; on one line, truncated. */
function shown({ redact }: Pick<SecretRegistry, "redact">, text: string, maxLength: number): string {
  const named = redact(text.slice(0, 20_000))
    .replace(/\b([\w-]{1,40})=("[^"]*"|[^\s,;&"]+)/g, (pair, name: string) =>
      isSecretField(name) ? `${name}=${redacted}` : pair,
    )
    .replace(/\beyJ[\w-]{5,}\.[\w-]+(?:\.[\w-]*)*/g, redacted);
  return printableText(named, maxLength);
}
