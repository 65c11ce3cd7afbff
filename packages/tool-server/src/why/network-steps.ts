import { isoTime } from "../duration.js";
import { credentialWords } from "./credential-words.js";
import type { Outcome, Step, StepName } from "./explanation.js";
import type { AttemptFacts, NetworkFacts, WalkFacts } from "./facts.js";
import type { OAuthFacts } from "./oauth-facts.js";
import { answerEvidence } from "./rank/evidence.js";
import { spokenEvidence } from "./spoken-evidence.js";

/** The steps of a server on the network. */
export function networkSteps(facts: WalkFacts): Step[] {
  return [
    ...helperStep(facts),
    ...waySteps(facts.network),
    ...signInStep(facts.oauth),
    ...attemptSteps(facts),
    ...authorizationSteps(facts.oauth),
    protocolStep(facts.attempt),
  ];
}

function step(name: StepName, outcome: Outcome, ...evidence: readonly (string | undefined)[]): Step {
  return { step: name, outcome, evidence: evidence.filter((line) => line !== undefined) };
}

function helperStep({ helper, places }: WalkFacts): Step[] {
  if (helper === undefined) return places.headersHelper === undefined ? [] : [step("helper", "skipped")];
  if (helper.failure !== undefined) return [step("helper", "failed", helper.failure.message)];
  const given = helper.headers.join(", ") || "no headers";
  return [step("helper", "ok", `${helper.path} gave ${given} after ${helper.durationMs} ms.`)];
}

const stages = ["proxy", "name", "connection", "tls"] as const;

/** Proxy, name, connection, TLS: all went well before the one that failed, and none was come to after it. */
function waySteps(network: NetworkFacts | undefined): Step[] {
  const failure = network?.failure;
  const failedAt = failure === undefined ? stages.length : stages.indexOf(failure.stage as (typeof stages)[number]);
  return stages
    .filter((stage) => stage !== "tls" || network?.isSecure !== false)
    .map((stage, index) => {
      if (network === undefined || index > failedAt) {
        // Settings that cannot be used are found before anything else.
        return failedAt === -1 && stage === "proxy"
          ? step("proxy", "failed", failure?.message)
          : step(stage, "skipped");
      }
      if (index === failedAt) return step(stage, "failed", failure?.message, certificateLine(network));
      return step(stage, stage === "proxy" && network.proxy === undefined ? "skipped" : "ok", lineOf(stage, network));
    });
}

function lineOf(stage: (typeof stages)[number], network: NetworkFacts): string | undefined {
  const { proxy, host, port, addresses, connected } = network;
  switch (stage) {
    case "proxy":
      return proxy === undefined ? "None is used for this host." : `${proxy.name}, of ${proxy.variable}.`;
    case "name":
      return addresses[0] === host ? `${host} is an address.` : `${proxy?.name ?? host}: ${addresses.join(", ")}.`;
    case "connection":
      return connected === undefined ? undefined : `Connected to ${connected.address}, for ${host}:${port}.`;
    case "tls":
      return connected?.tls === undefined ? undefined : `${connected.tls}.`;
  }
}

function certificateLine({ certificate }: NetworkFacts): string | undefined {
  if (certificate === undefined) return undefined;
  const { names, subject, issuer, validFrom, validTo } = certificate;
  return `The certificate: for ${names || subject}, signed by ${issuer}, from ${validFrom} until ${validTo}.`;
}

function signInStep(oauth: OAuthFacts | undefined): Step[] {
  if (oauth === undefined) return [];
  const { vaultFailure, before, vault, events } = oauth;
  if (vaultFailure !== undefined) return [step("sign-in", "failed", vaultFailure.message)];
  const told = events.filter(({ kind }) => /refresh|token|sign-in|issuer/.test(kind)).map(({ text }) => text);
  const rest = [vault?.summary, vault?.warning, ...told];
  if (before?.isSignedIn !== true) return [step("sign-in", "skipped", "Nobody has signed in to this server.", ...rest)];
  const { issuer, account, scopes, expiresAt, canRefresh } = before;
  const who = account === undefined ? "" : ` as ${account}`;
  const until = expiresAt === undefined ? "" : `, until ${isoTime(expiresAt)}`;
  const what = scopes === undefined || scopes.length === 0 ? "" : `, for ${scopes.join(" ")}`;
  const more = canRefresh ? "" : "; there is no refresh token";
  return [
    step("sign-in", "ok", `Signed in${who} with ${issuer ?? "an unknown issuer"}${what}${until}${more}.`, ...rest),
  ];
}

/** Whether it answered by HTTP as a tool server does, and whether it accepted the credential. */
function attemptSteps({ attempt, type }: WalkFacts): Step[] {
  if (attempt === undefined) return [step("http", "skipped"), step("credential", "skipped")];
  const { failure, answer, refusal, connected, credential } = attempt;
  const evidence = answer === undefined ? [] : answerEvidence(answer);
  const sent =
    credential === "none" ? "Nothing was sent, and nothing asked for." : `Accepted: ${credentialWords(credential)}.`;
  if (refusal !== undefined) {
    const words = refusal.findings.filter(({ weight }) => weight === "explains").map(({ message }) => message);
    const isByOAuth = credential === "oauth";
    const line = `The server answered ${refusal.status} to ${credentialWords(credential)}.`;
    return [step("http", "ok", ...evidence), step("credential", "failed", line, ...(isByOAuth ? [] : words))];
  }
  if (failure === undefined) {
    return [
      step("http", "ok", `It answers by ${type}.`),
      step("credential", credential === "none" ? "skipped" : "ok", sent),
    ];
  }
  if (connected !== undefined || isOfProtocol(attempt))
    return [step("http", "ok", ...evidence), step("credential", "ok", sent)];
  return [step("http", "failed", failure.message, ...evidence), step("credential", "skipped")];
}

/** Whether an attempt failed for what was said, and not for how it was carried. */
function isOfProtocol({ failure }: AttemptFacts): boolean {
  return failure?.code === "ANSWER_INVALID" || failure?.code === "CALL_REFUSED";
}

function authorizationSteps(oauth: OAuthFacts | undefined): Step[] {
  if (oauth?.authorization === undefined) return [];
  const { resource, authorization, client } = oauth;
  const isGood = authorization.outcome === "found" || authorization.outcome === "default";
  const hasPkce = authorization.outcome === "default" || (authorization.pkce?.includes("S256") ?? false);
  const isForeign = resource?.outcome === "foreign";
  const isChanged = authorization.changedFrom !== undefined;
  const evidence = [...(resource?.evidence ?? []), ...authorization.evidence];
  const pkce = isGood && !hasPkce ? "It does not offer PKCE with S256." : undefined;
  const changed = isChanged ? `Before, it was ${authorization.changedFrom}.` : undefined;
  const outcome = isGood && hasPkce && !isForeign && !isChanged ? "ok" : "failed";
  const steps = [step("authorization-server", outcome, authorization.expectedIssuer, ...evidence, pkce, changed)];
  if (client === undefined) return steps;
  const isRefused = client.outcome === "dead" || client.outcome === "redirect-mismatch" || client.outcome === "closed";
  return [
    ...steps,
    step("client", isRefused ? "failed" : client.outcome === "accepted" ? "ok" : "skipped", ...client.evidence),
  ];
}

function protocolStep(attempt: AttemptFacts | undefined): Step {
  const { connected, failure, refusal } = attempt ?? {};
  if (attempt === undefined || refusal !== undefined) return step("protocol", "skipped", spokenEvidence(connected));
  if (failure === undefined) return step("protocol", "ok", spokenEvidence(connected));
  if (connected === undefined && !isOfProtocol(attempt)) return step("protocol", "skipped");
  return step("protocol", "failed", failure.message, spokenEvidence(connected));
}
