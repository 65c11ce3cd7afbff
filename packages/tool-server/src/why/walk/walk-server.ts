import { createNoCredential } from "../../auth/credentials/fixed-credential.js";
import { credentialHeaders } from "../../auth/credentials/refusal-evidence.js";
import { systemClock } from "../../clock.js";
import { type Entry, templateFieldsOf } from "../../config/entry.js";
import { formatPath } from "../../config/finding.js";
import { isAuthorizationName, parseAuthorization } from "../../config/headers.js";
import type { Position } from "../../config/json-with-positions.js";
import { unknownServer } from "../../config/parse-configuration.js";
import { type ResolvedEntry, substituteEntry } from "../../config/substitute-entry.js";
import { variableUses } from "../../config/variable-uses.js";
import type { CredentialDescription, TransportInfo } from "../../connection-info.js";
import { publish } from "../../diagnostics.js";
import { ToolServerError } from "../../errors.js";
import { createHttpClient } from "../../http/create-http-client.js";
import { isTenantHeader } from "../../secrets/recognize-secrets.js";
import { notTrusted } from "../../trust/evaluate-trust.js";
import { hostOf, portOf } from "../../url.js";
import { failureEvidence, type NetworkEvidence, type TrustEvidence, type WalkEvidence } from "../evidence.js";
import type { ExplainOptions } from "../explanation.js";
import { attemptOverNetwork, describeConnection } from "./attempt.js";
import { checkChild } from "./check-child.js";
import { checkNetwork } from "./check-network.js";
import { checkOffer, checkSignIn } from "./check-sign-in.js";
import { findAlternative, mayBeElsewhere } from "./find-alternative.js";
import { type PreparedCredential, prepareCredential } from "./prepare-credential.js";
import { createRecordingClient, type RecordedExchange, type RecordingClient } from "./recording-client.js";
import { createWalk, startsLauncher, type Walk } from "./walk.js";

/**
 * Walks a server from its entry as far as possible, and collects evidence. `onEvidence` is called with what is known so far. Throws
 * SERVER_UNKNOWN.
 */
export async function walkServer(
  options: ExplainOptions,
  onEvidence: (seen: WalkEvidence) => void = () => {},
): Promise<WalkEvidence> {
  const { clock = systemClock } = options;
  const { seen, entry, resolved } = checkEntry(options);
  onEvidence(seen);
  // An entry that is disabled or has errors is not used, trusted or not.
  if (entry === undefined || entry.isDisabled || seen.findings.some(({ severity }) => severity === "error"))
    return seen;
  const totalMs = options.totalMs ?? (startsLauncher(entry) ? 180_000 : 60_000);
  const over = new AbortController();
  const cancelTimeout = clock.after(totalMs, () => over.abort(walkTimeout(totalMs)));
  try {
    const walk = createWalk(options, entry, over.signal);
    const trust = await checkTrust(walk);
    const known = { ...seen, trust };
    onEvidence(known);
    const onMore = (more: NetworkWalk): void => onEvidence({ ...known, ...more });
    if (resolved === undefined || trust.state !== "trusted") return known;
    try {
      if (resolved.type === "stdio") return { ...known, ...(await checkChild(walk, resolved)) };
      const more = await walkNetwork(walk, resolved, onMore);
      // The connection falls back too, if the same url serves the older transport.
      const isOlder =
        resolved.fallsBackToSse &&
        more.alternative?.type === "sse" &&
        more.alternative.url === walk.redact(resolved.url);
      return { ...known, ...(isOlder ? await walkNetwork(walk, { ...resolved, type: "sse" }, onMore) : more) };
    } catch (error) {
      if (!ToolServerError.is(error)) throw error;
      // The approval was revoked or the files changed during the walk; or the walk timed out.
      if (error.code === "NOT_TRUSTED")
        return { ...seen, trust: { state: "changed", reason: walk.redact(error.message, "own") } };
      return { ...known, attempt: { credential: "none", failure: failureEvidence(error, walk.redact) } };
    }
  } finally {
    cancelTimeout();
  }
}

function walkTimeout(totalMs: number): ToolServerError {
  const problem = `The diagnosis took longer than ${totalMs / 1000} s and was stopped.`;
  return new ToolServerError("CALL_TIMEOUT", { problem, advice: "" });
}

type NetworkResolved = Exclude<ResolvedEntry, { readonly type: "stdio" }>;
type NetworkWalk = Pick<WalkEvidence, "helper" | "network" | "attempt" | "alternative" | "oauth" | "offer">;

/** Walks to a server on the network as far as possible: helper, host, HTTP, credential, protocol. */
async function walkNetwork(
  walk: Walk,
  resolved: NetworkResolved,
  onMore: (more: NetworkWalk) => void,
): Promise<NetworkWalk> {
  const url = new URL(resolved.url);
  let prepared: PreparedCredential = { credential: createNoCredential({ server: resolved.name }) };
  const describe = () => (prepared.credential ?? createNoCredential({ server: resolved.name })).describe();
  const info = { ...describeConnection(walk, resolved), credential: describe };
  // For the requests before and after those of a transport.
  const own: TransportInfo = { connection: info, target: info.target };
  let current = own;
  let http: RecordingClient;
  try {
    const client = createHttpClient({
      server: resolved.name,
      transport: () => current,
      variables: walk.variables,
      tls: walk.ca === undefined ? undefined : { ca: walk.ca },
      secrets: walk.secrets,
      connectMs: walk.responseMs,
      clock: walk.clock,
    });
    http = createRecordingClient(client, walk.clock, (exchange) => traceExchange(walk, current, exchange, describe()));
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return { network: invalidSettings(walk, url, error) };
  }
  try {
    prepared = await prepareCredential(walk, resolved, http, info);
    const { credential, helper, signIn } = prepared;
    onMore({ helper });
    const network = await checkNetwork(walk, url, http);
    onMore({ helper, network });
    if (network.failure !== undefined || credential === undefined) {
      return { helper, network, oauth: signIn && (await checkSignIn(walk, signIn, undefined, info)) };
    }
    const attempt = await attemptOverNetwork(walk, {
      resolved,
      credential,
      http,
      info,
      onTransport: (_, transport) => {
        current = transport;
      },
    });
    onMore({ helper, network, attempt });
    return {
      helper,
      network,
      attempt,
      alternative: mayBeElsewhere(attempt) ? await findAlternative(walk, url, resolved.type, http) : undefined,
      oauth: signIn && (await checkSignIn(walk, signIn, attempt, info)),
      offer: await checkOffer(walk, resolved.url, http, credential.describe(), attempt),
    };
  } finally {
    await prepared.credential?.dispose();
    await prepared.signIn?.close();
    await http.close();
    const reason = "The diagnosis ended.";
    publish("transport:closed", { subject: own, reason });
    publish("connection:closed", { subject: info, reason });
  }
}

/** The evidence that no connection can be tried, because its settings are invalid. */
function invalidSettings(walk: Walk, url: URL, { code, message }: ToolServerError): NetworkEvidence {
  return {
    host: hostOf(url.hostname),
    port: portOf(url),
    isSecure: url.protocol === "https:" || url.protocol === "wss:",
    authorities: walk.ca === undefined ? [] : ["--ca"],
    addresses: [],
    failure: { stage: "settings", code, message: walk.redact(message, "own") },
  };
}

/** Reports a request and its response to observers: the names of its headers, and only values that are not secret. */
function traceExchange(
  walk: Walk,
  info: TransportInfo,
  exchange: RecordedExchange,
  credential: CredentialDescription,
): void {
  const { method, url, status, headers } = exchange;
  const sent = credentialHeaders(exchange.sent, credential).map(({ header, value }) =>
    showHeader(walk, header.name, value),
  );
  const carried = sent.length === 0 ? "without a credential" : `with ${sent.join(", ")}`;
  const challenge = headers["www-authenticate"];
  const challengeText = challenge === undefined ? "" : `; challenge: ${walk.sanitize(challenge)}`;
  const target = walk.sanitize(`${url.origin}${url.pathname}`);
  walk.report(info, "info", `${method} ${target} ${carried} returned ${status}${challengeText}`);
}

function showHeader({ sanitize }: Walk, name: string, value: string): string {
  if (isTenantHeader(name)) return `${name}: ${sanitize(value, 100)}`;
  const scheme = isAuthorizationName(name) ? parseAuthorization(value).scheme : undefined;
  return `${name}: ${scheme === undefined ? "" : `${scheme} `}[redacted]`;
}

/** An entry, with and without its variables substituted. */
interface CheckedEntry {
  readonly seen: WalkEvidence;
  /** Undefined if the entry is invalid. */
  readonly entry: Entry | undefined;
  /** Undefined if the entry is invalid, or a variable has an error. */
  readonly resolved: ResolvedEntry | undefined;
}

/** Checks an entry and its variables. Nothing is run or connected to. Throws SERVER_UNKNOWN. */
function checkEntry(options: ExplainOptions): CheckedEntry {
  const { server, configuration, configurationPath, secrets, lastFailure } = options;
  const redact = (text: string): string => secrets.redact(text, "own");
  const entry = configuration.entries.find(({ name }) => name === server);
  const findings = configuration.findings.filter((finding) => finding.server === server);
  if (entry === undefined && findings.length === 0) throw unknownServer(server, configuration, redact);
  const substitution = entry === undefined ? undefined : substituteEntry(entry, options);
  const uses = entry === undefined ? [] : variableUses(entry);
  return {
    entry,
    resolved: substitution?.entry,
    seen: {
      server: redact(server),
      type: entry?.type,
      isDisabled: entry?.isDisabled,
      file: configurationPath,
      positions: entry === undefined ? positionOfFirst(findings) : positionsOf(entry),
      isGateway: options.setVariable !== undefined,
      commandArguments: options.commandArguments ?? [],
      signInArguments: options.signInArguments ?? [],
      findings,
      // Findings about the text of the entry are in `findings` already.
      values: (substitution?.findings ?? []).filter(
        ({ code, path }) =>
          !findings.some((known) => known.code === code && formatPath(known.path) === formatPath(path)),
      ),
      variables: [...new Set(uses.map(({ variable }) => variable))],
      tenants: entry === undefined || entry.type === "stdio" ? [] : entry.tenants,
      earlier: lastFailure === undefined ? undefined : failureEvidence(lastFailure, redact),
    },
  };
}

function positionsOf(entry: Entry): Record<string, Position> {
  const fields = templateFieldsOf(entry).map(({ field, line, column }) => [field, { line, column }] as const);
  return { entry: { line: entry.line, column: entry.column }, ...Object.fromEntries(fields) };
}

function positionOfFirst([first]: readonly Position[]): Record<string, Position> {
  return first === undefined ? {} : { entry: { line: first.line, column: first.column } };
}

const reasons = {
  approval: "Approved, and not changed since.",
  policy: "Allowed by the policy.",
  flag: "Trusted for this run.",
} as const;

/** Whether the entry is trusted. Nothing is run or connected to. */
async function checkTrust({ options, entry, redact }: Walk): Promise<TrustEvidence> {
  try {
    const decision = await options.evaluateTrust(entry);
    if (decision.state === "trusted") return { state: "trusted", reason: reasons[decision.by] };
    const reason = redact(notTrusted(entry.name, decision).message);
    if (decision.state === "denied") return { state: decision.state, reason };
    const missing = decision.subject.fingerprint.files.find(
      ({ field, state }) => field === "headersHelper" && state === "missing",
    );
    return { state: decision.state, reason, missingHelper: missing && redact(missing.path) };
  } catch (error) {
    if (!ToolServerError.is(error)) throw error;
    return { state: "unreadable", reason: redact(error.message) };
  }
}
