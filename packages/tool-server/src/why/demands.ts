import { credentialWords } from "./credential-words.js";
import type { Demand, Outcome } from "./explanation.js";
import type { AttemptFacts, WalkFacts } from "./facts.js";
import { oauthDemands } from "./oauth-demands.js";
import { spokenEvidence } from "./spoken-evidence.js";

/**
 * What is demanded of a server, and whether it is met, as far as the walk came. What is only recommended, and not there, is
 * skipped, and so is a sign-in that nobody has made yet.
 */
export function demandsOf(facts: WalkFacts): Demand[] {
  const { attempt, type, trust } = facts;
  if (trust?.state !== "trusted") return [];
  return type === "stdio"
    ? stdioDemands(facts)
    : [...wayDemands(facts), ...answerDemands(facts), ...protocolDemands(attempt)];
}

function demand(name: string, outcome: Outcome, ...evidence: readonly (string | undefined)[]): Demand {
  return { demand: name, outcome, evidence: evidence.filter((line) => line !== undefined) };
}

function stdioDemands({ child, attempt }: WalkFacts): Demand[] {
  const isStarted = child !== undefined && child.notStarted === undefined && child.path !== undefined;
  const failure = attempt?.failure?.message;
  const ends = child?.exit === undefined ? "ok" : "failed";
  return [
    demand("the command is found and can be run", isStarted ? "ok" : "failed", child?.path ?? child?.command),
    demand("the process stays", isStarted ? ends : "skipped", ends === "failed" ? failure : undefined),
    demand(
      "only messages are on its standard output",
      !isStarted ? "skipped" : child?.stray === undefined ? "ok" : "failed",
      child?.stray,
    ),
    ...protocolDemands(attempt),
  ];
}

function wayDemands({ network }: WalkFacts): Demand[] {
  if (network === undefined) return [demand("it can be reached", "skipped")];
  const { failure, connected, isSecure, host, port } = network;
  const isTls = failure?.stage === "tls";
  const reach = demand(
    "it can be reached",
    failure === undefined || isTls ? "ok" : "failed",
    failure === undefined || isTls ? `${host}, port ${port}` : failure.message,
  );
  if (!isSecure) return [reach, demand("TLS", "skipped", "It is this machine, and not spoken there.")];
  const tls = isTls ? "failed" : connected === undefined ? "skipped" : "ok";
  return [reach, demand("TLS with a certificate that is trusted", tls, isTls ? failure.message : connected?.tls)];
}

/** That it answers, and takes the credential; for a server that signs in by OAuth, all that a sign-in needs. */
function answerDemands(facts: WalkFacts): Demand[] {
  const { attempt, oauth, helper } = facts;
  const made =
    helper === undefined
      ? []
      : [
          demand(
            "the helper gives headers",
            helper.failure === undefined ? "ok" : "failed",
            helper.failure?.message ?? helper.headers.join(", "),
          ),
        ];
  if (attempt === undefined) return [...made, demand("the credential is accepted", "skipped")];
  const { refusal, credential, failure, connected } = attempt;
  if (oauth !== undefined && (refusal !== undefined || oauth.authorization !== undefined)) {
    return [...made, ...oauthDemands(facts, oauth)];
  }
  if (refusal !== undefined) {
    return [
      ...made,
      demand(
        "the credential is accepted",
        "failed",
        `It answered ${refusal.status} to ${credentialWords(credential)}.`,
      ),
    ];
  }
  const isAnswered = failure === undefined || connected !== undefined;
  const what = credential === "none" ? "Nothing is asked for." : credentialWords(credential);
  return [...made, demand("the credential is accepted", isAnswered ? "ok" : "skipped", isAnswered ? what : undefined)];
}

function protocolDemands(attempt: AttemptFacts | undefined): Demand[] {
  const { connected, failure, refusal } = attempt ?? {};
  if (connected === undefined) {
    const isOpen = failure === undefined || refusal !== undefined;
    return [
      demand("it speaks the protocol", isOpen ? "skipped" : "failed", isOpen ? undefined : failure.message),
      demand("its version is known", "skipped"),
    ];
  }
  const isDefect = failure !== undefined && refusal === undefined;
  return [
    demand(
      "it speaks the protocol",
      isDefect ? "failed" : "ok",
      isDefect ? failure.message : spokenEvidence(connected),
    ),
    demand("its version is known", "ok", `${connected.protocolVersion}, of the ${connected.era} era`),
  ];
}
