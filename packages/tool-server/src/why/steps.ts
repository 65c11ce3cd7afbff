import type { OAuthEvent } from "../auth/oauth/oauth-log.js";
import { describeResponse } from "../causes/refusal-evidence.js";
import type { CredentialKind } from "../connection-info.js";
import { isoTime } from "../duration.js";
import { significantLines } from "../process/process-outcome.js";
import {
  type AttemptEvidence,
  type ClientEvidence,
  describeCertificate,
  isRenewal,
  type NetworkEvidence,
  type OAuthEvidence,
  type ServerEvidence,
  type WalkEvidence,
} from "./evidence.js";
import type { CheckOutcome, Step, StepName } from "./explanation.js";

/** The walk as a list: each step of the server's type, its outcome, and what was observed. */
export function stepsOf(seen: WalkEvidence): Step[] {
  const { type, oauth, attempt, network } = seen;
  const before = [configurationStep(seen), variablesStep(seen), trustStep(seen)];
  if (type === "stdio") return [...before, ...childSteps(seen)];
  return [
    ...before,
    ...helperStep(seen),
    ...connectionSteps(network),
    ...signInStep(oauth),
    ...attemptSteps(seen),
    ...authorizationSteps(oauth),
    protocolStep(attempt),
  ];
}

function step(name: StepName, outcome: CheckOutcome, ...evidence: readonly (string | undefined)[]): Step {
  return { step: name, outcome, evidence: evidence.filter((line) => line !== undefined) };
}

function configurationStep({ findings, file, positions, type, isDisabled = false }: WalkEvidence): Step {
  const isBroken = isDisabled || findings.some(({ severity }) => severity === "error");
  const line = positions.entry?.line;
  const position = `${file}${line === undefined ? "" : `:${line}`}`;
  const entry = type === undefined ? "The entry is invalid." : `Entry of type ${type}.`;
  const list = findings.map((finding) => `line ${finding.line}, ${finding.severity}: ${finding.message}`);
  const disabled = isDisabled ? "It is disabled." : undefined;
  return step("configuration", isBroken ? "failed" : "ok", `${position}: ${entry}`, disabled, ...list);
}

function variablesStep({ values, variables, findings }: WalkEvidence): Step {
  const isBroken = values.some(({ severity }) => severity === "error");
  if (findings.some(({ severity }) => severity === "error") && values.length === 0) return step("variables", "skipped");
  if (variables.length === 0 && values.length === 0)
    return step("variables", "skipped", "The entry uses no variables.");
  const list = values.map(({ severity, message }) => `${severity}: ${message}`);
  const used = `The entry uses ${variables.join(", ")}${list.length === 0 ? "; all are valid" : ""}.`;
  return step("variables", isBroken ? "failed" : "ok", used, ...list);
}

function trustStep({ trust, isDisabled = false }: WalkEvidence): Step {
  if (trust === undefined) {
    return step("trust", "skipped", `Not checked because the entry ${isDisabled ? "is disabled" : "has errors"}.`);
  }
  return step("trust", trust.state === "trusted" ? "ok" : "failed", trust.reason);
}

function childSteps({ child, attempt }: WalkEvidence): Step[] {
  if (child === undefined) return (["command", "process", "protocol"] as const).map((name) => step(name, "skipped"));
  const { command, path, searched, notStarted, exit, stderr, strayOutput } = child;
  const found = path ?? `${command}${searched.length === 0 ? "" : `; PATH searched: ${searched.join(":")}`}`;
  const isFound = path !== undefined;
  const failure = attempt?.failure;
  const isRunning = isFound && notStarted === undefined && exit === undefined;
  const output = significantLines(stderr, 3).map((line) => `stderr: ${line}`);
  const strayLine = strayOutput === undefined ? undefined : `Not a message, on standard output: ${strayOutput}`;
  return [
    step("command", isFound ? "ok" : "failed", found),
    isFound
      ? step("process", isRunning ? "ok" : "failed", isRunning ? "Started." : failure?.message, ...output)
      : step("process", "skipped"),
    !isRunning
      ? step("protocol", "skipped", strayLine)
      : failure === undefined
        ? step("protocol", "ok", describeServer(attempt?.connected), strayLine)
        : step("protocol", "failed", failure.message, strayLine),
  ];
}

function helperStep({ helper, positions }: WalkEvidence): Step[] {
  if (helper === undefined) return positions.headersHelper === undefined ? [] : [step("helper", "skipped")];
  if (helper.failure !== undefined) return [step("helper", "failed", helper.failure.message)];
  const headers = helper.headers.join(", ") || "no headers";
  return [step("helper", "ok", `${helper.path} returned ${headers} after ${helper.durationMs} ms.`)];
}

const stages = ["proxy", "name", "connection", "tls"] as const;

/** Proxy, name, connection, TLS: the stages before a failure succeeded, and those after it were not reached. */
function connectionSteps(network: NetworkEvidence | undefined): Step[] {
  const failure = network?.failure;
  const failedAt = failure === undefined ? stages.length : stages.indexOf(failure.stage as (typeof stages)[number]);
  return stages
    .filter((stage) => stage !== "tls" || network?.isSecure !== false)
    .map((stage, index) => {
      if (network === undefined || index > failedAt) {
        // Invalid settings are found before anything else.
        return failedAt === -1 && stage === "proxy"
          ? step("proxy", "failed", failure?.message)
          : step(stage, "skipped");
      }
      const certificate = network.certificate && describeCertificate(network.certificate);
      if (index === failedAt) return step(stage, "failed", failure?.message, certificate);
      const isSkipped = stage === "proxy" && network.proxy === undefined;
      return step(stage, isSkipped ? "skipped" : "ok", describeStage(stage, network));
    });
}

function describeStage(stage: (typeof stages)[number], network: NetworkEvidence): string | undefined {
  const { proxy, host, port, addresses, connected } = network;
  switch (stage) {
    case "proxy":
      return proxy === undefined ? "No proxy for this host." : `${proxy.name}, from ${proxy.variable}.`;
    case "name":
      return addresses[0] === host ? `${host} is an address.` : `${proxy?.name ?? host}: ${addresses.join(", ")}.`;
    case "connection":
      return connected === undefined ? undefined : `Connected to ${connected.address}, for ${host}:${port}.`;
    case "tls":
      return connected?.tls === undefined ? undefined : `${connected.tls}.`;
  }
}

/** The events that explain the state of a sign-in. */
const signInEvents: ReadonlySet<OAuthEvent["kind"]> = new Set<OAuthEvent["kind"]>([
  "issuer-changed",
  "waiting",
  "ended",
  "renewal-retry",
  "tokens-dropped",
]);

function signInStep(oauth: OAuthEvidence | undefined): Step[] {
  if (oauth === undefined) return [];
  const { vaultFailure, before, vault, events } = oauth;
  if (vaultFailure !== undefined) return [step("sign-in", "failed", vaultFailure.message)];
  const relevant = events.filter(({ kind, text }) => signInEvents.has(kind) && text !== "").map(({ text }) => text);
  const more = [vault?.summary, vault?.warning, ...relevant];
  if (before?.isSignedIn !== true) return [step("sign-in", "skipped", "Not signed in to this server.", ...more)];
  const { issuer, account, scopes, expiresAt, canRefresh } = before;
  const parts = [
    `Signed in${account === undefined ? "" : ` as ${account}`} with ${issuer ?? "an unknown issuer"}`,
    ...(scopes === undefined || scopes.length === 0 ? [] : [`scopes ${scopes.join(" ")}`]),
    ...(expiresAt === undefined ? [] : [`until ${isoTime(expiresAt)}`]),
    ...(canRefresh ? [] : ["without a refresh token"]),
  ];
  return [step("sign-in", "ok", `${parts.join(", ")}.`, ...more)];
}

/** Whether the server responded over HTTP as a tool server does, and whether it accepted the credential. */
function attemptSteps({ attempt, type, oauth }: WalkEvidence): Step[] {
  if (attempt === undefined) return [step("http", "skipped"), step("credential", "skipped")];
  const { failure, response, refusal, connected, credential } = attempt;
  const evidence = response === undefined ? [] : describeResponse(response);
  const sent = credential === "oauth" && hadNoToken(oauth) ? "none" : credential;
  const accepted =
    sent === "none"
      ? step("credential", "skipped", "None was sent, and none is required.")
      : step("credential", "ok", `Accepted: ${describeCredential(sent)}.`);
  if (refusal !== undefined) {
    const line = `The server returned ${refusal.status} to ${describeCredential(sent)}.`;
    return [step("http", "ok", ...evidence), step("credential", "failed", line)];
  }
  if (failure === undefined) return [step("http", "ok", `The server responds over ${type}.`), accepted];
  if (connected !== undefined || isProtocolFailure(attempt)) return [step("http", "ok", ...evidence), accepted];
  return [step("http", "failed", failure.message, ...evidence), step("credential", "skipped")];
}

function hadNoToken(oauth: OAuthEvidence | undefined): boolean {
  return oauth?.before?.isSignedIn === false && !oauth.events.some(isRenewal);
}

/** Whether an attempt failed because of a message, and not because of its transport. */
function isProtocolFailure({ failure }: AttemptEvidence): boolean {
  return failure?.code === "RESPONSE_INVALID" || failure?.code === "CALL_REFUSED";
}

function authorizationSteps(oauth: OAuthEvidence | undefined): Step[] {
  const { resource, authorization, client } = oauth ?? {};
  if (authorization === undefined)
    return resource === undefined ? [] : [step("authorization-server", "failed", ...resource.evidence)];
  const isUsable = authorization.outcome === "found" || authorization.outcome === "default";
  const { assumesPkce = false } = authorization;
  const hasPkce = authorization.outcome === "default" || assumesPkce || (authorization.pkce?.includes("S256") ?? false);
  const isChanged = authorization.changedFrom !== undefined;
  const evidence = [...(resource?.evidence ?? []), ...authorization.evidence];
  const assumed = assumesPkce ? "The metadata does not list PKCE with S256; it is used anyway." : undefined;
  const pkce = isUsable && !hasPkce ? "PKCE with S256 is not supported." : assumed;
  const changed = isChanged ? `Before, it was ${authorization.changedFrom}.` : undefined;
  // It is unknown whether default endpoints exist until a client was registered there.
  const isUnknown = authorization.outcome === "default" && client?.outcome === "to-register";
  const isOk = isUsable && hasPkce && !isChanged;
  const outcome = !isOk ? "failed" : isUnknown ? "skipped" : "ok";
  const steps = [step("authorization-server", outcome, authorization.expectedIssuer, ...evidence, pkce, changed)];
  if (client === undefined) return steps;
  const result = isClientRefused(client) ? "failed" : client.outcome === "accepted" ? "ok" : "skipped";
  return [...steps, step("client", result, ...client.evidence)];
}

/** Whether the authorization server refuses the client, or registers none. */
export function isClientRefused({ outcome }: ClientEvidence): boolean {
  return outcome === "dead" || outcome === "redirect-mismatch" || outcome === "closed";
}

function protocolStep(attempt: AttemptEvidence | undefined): Step {
  const { connected, failure, refusal } = attempt ?? {};
  if (attempt === undefined || refusal !== undefined) return step("protocol", "skipped", describeServer(connected));
  if (failure === undefined) return step("protocol", "ok", describeServer(connected));
  if (connected === undefined && !isProtocolFailure(attempt)) return step("protocol", "skipped");
  return step("protocol", "failed", failure.message, describeServer(connected));
}

const credentials: Readonly<Record<CredentialKind, string>> = {
  none: "a request without a credential",
  headers: "the headers of the entry",
  helper: "the headers from the helper",
  environment: "the environment of the process",
  oauth: "the token of the sign-in",
};

/** Describes the credential of a request. */
export function describeCredential(kind: CredentialKind): string {
  return credentials[kind];
}

/** The server's description of itself, in a line. */
export function describeServer(connected: ServerEvidence | undefined): string | undefined {
  if (connected === undefined) return undefined;
  const { name, version, protocolVersion, era, tools } = connected;
  const server = [name ?? "A server without a name", version].filter(Boolean).join(" ");
  const list = tools === undefined ? "" : `; ${tools} ${tools === 1 ? "tool" : "tools"}`;
  return `${server}, protocol ${protocolVersion} (${era} era)${list}.`;
}

/** What clients do not get because it is invalid, in a line. */
export function describeOmitted({ omitted }: Partial<ServerEvidence> = {}): string | undefined {
  return omitted === undefined ? undefined : `Omitted from its tools because of invalid values: ${omitted}.`;
}
