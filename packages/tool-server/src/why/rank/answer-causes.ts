import { parseUrl } from "../../url.js";
import type { CauseCode } from "../cause-table.js";
import type { Cause, Mend } from "../explanation.js";
import type { AnswerFacts, AttemptFacts, WalkFacts } from "../facts.js";
import { answerEvidence } from "./evidence.js";
import { credentialHint, versionHint } from "./hints.js";
import { bridgeMend, mendBy, mendField } from "./mends.js";

/** Why what answered is no tool server that can be spoken with; refusals of the credential are told of elsewhere. */
export function answerCauses(facts: WalkFacts): Cause[] {
  const { attempt, type } = facts;
  if (attempt?.failure === undefined || attempt.refusal !== undefined || type === "stdio") return [];
  return [...alternativeCauses(facts), ...statusCauses(facts, attempt), ...failureCauses(facts, attempt)];
}

function alternativeCauses(facts: WalkFacts): Cause[] {
  const { alternative, type } = facts;
  if (alternative === undefined) return [];
  const isSamePlace = alternative.type !== type && facts.attempt?.answer?.path === pathOf(alternative.url);
  const cause = isSamePlace ? "wrong-type" : "wrong-path";
  const typeText = `"type": "${alternative.type}"`;
  const write = [...(alternative.type === type ? [] : [typeText]), `"url": "${alternative.url}"`].join(", ");
  const message = isSamePlace
    ? `The server is there, but of the type ${alternative.type}, and the entry says ${type}.`
    : `There is no tool server at the path of the url, but one at ${alternative.url}.`;
  const mend = mendField(
    facts,
    isSamePlace ? "entry" : "url",
    "Write that into the entry.",
    isSamePlace ? typeText : write,
  );
  return [{ cause, weight: 1, message, evidence: [`At ${alternative.url}, ${alternative.evidence}.`], mend }];
}

function pathOf(url: string): string {
  return parseUrl(url)?.pathname ?? url;
}

/** What the status and the form of the answer say. */
function statusCauses(facts: WalkFacts, { failure, answer }: AttemptFacts): Cause[] {
  const status = failure?.status ?? answer?.status;
  if (failure === undefined || status === undefined) return [];
  const evidence = answer === undefined ? [`It answered ${status}.`] : answerEvidence(answer);
  const found = (cause: CauseCode, weight: number, mend: Mend): Cause[] => [
    { cause, weight, message: failure.message, evidence, mend },
  ];
  if (status >= 300 && status < 400) return found("redirected", 0.95, redirectMend(facts, answer));
  if (status === 429) {
    const wait = answer?.retryAfter === undefined ? "" : ` It asks to wait: ${answer.retryAfter}.`;
    return found("rate-limited", 0.95, mendBy(facts, ["ping"], `Try again later.${wait}`));
  }
  // A page with a bad status is what most servers show for it, and says nothing more.
  if (status >= 500 && status !== 501)
    return found("server-failing", 0.95, mendBy(facts, ["ping"], "Try again later, or look into its log."));
  if (status >= 200 && status < 300) return foreignCauses(facts, found, answer, failure.code);
  const url = (what: string): Mend => mendField(facts, "url", what);
  if (status === 404 || status === 410) {
    return found("not-found", 0.9, url("Correct the path of the url: many servers have /mcp, older ones /sse."));
  }
  if (status === 405 || status === 406 || status === 415 || status === 426 || status === 501) {
    const hint = status === 426 ? "a WebSocket has the type ws" : "a server of the older kind has the type sse";
    return found("method-refused", 0.9, url(`Correct the path or the type: ${hint}.`));
  }
  return found("not-the-protocol", 0.7, url("Check that the url is the one of the tool server."));
}

/** A good status, and yet no answer of the protocol. */
function foreignCauses(
  facts: WalkFacts,
  found: (cause: CauseCode, weight: number, mend: Mend) => Cause[],
  answer: AnswerFacts | undefined,
  code: string,
): Cause[] {
  if (code !== "NOT_A_TOOL_SERVER" || answer === undefined) return [];
  const check = mendField(facts, "url", "Open the url in a browser, and correct it: this is no tool server.");
  if (answer.title !== undefined || answer.mediaType === "text/html") {
    const isSignIn = /sign[ -]?in|log[ -]?in|sso|authenticat/i.test(`${answer.title} ${answer.excerpt}`);
    const what =
      "A page for signing in stands before it: open the url in a browser, and ask its operator for a way past it.";
    return found("html-page", 0.9, isSignIn ? { ...check, what } : check);
  }
  const isSpoken = answer.mediaType === "application/json" || answer.mediaType === "text/event-stream";
  return found(isSpoken ? "not-the-protocol" : "content-type-wrong", 0.9, check);
}

/** What is left where no status tells it. */
function failureCauses(facts: WalkFacts, { failure, connected }: AttemptFacts): Cause[] {
  if (failure === undefined) return [];
  const { code, message, said = "", needsClientCertificate } = failure;
  const found = (cause: CauseCode, weight: number, mend: Mend): Cause[] => [
    { cause, weight, message, evidence: connected === undefined ? [] : ["The handshake went well."], mend },
  ];
  const ping = (what: string): Mend => mendBy(facts, ["ping"], what);
  switch (code) {
    case "CALL_TIMEOUT":
      return found("never-answers", 0.9, ping("Look at what the server does, or allow it more time."));
    case "SERVER_UNREACHABLE":
      // With TLS 1.3 a server judges the client's certificate only after the handshake.
      if (needsClientCertificate) return found("client-certificate-wanted", 1, bridgeMend(facts));
      return found("connection-cut", 0.8, ping("Look into the log of the server, and at what stands between."));
    case "CONNECTION_LOST":
    case "SESSION_LOST":
      return found("connection-cut", 0.8, ping("Look into the log of the server, and at what stands between."));
    case "NOT_A_TOOL_SERVER":
      return found(
        "not-the-protocol",
        0.6,
        mendField(facts, "url", "Check that the url is the one of the tool server."),
      );
    case "ANSWER_INVALID":
    case "MESSAGE_TOO_LARGE":
    case "CALL_REFUSED":
      return protocolCauses(said, found, connected !== undefined);
    default:
      return [];
  }
}

/** Failures of the protocol itself: its version, a refusal in its own words, or a defect. */
function protocolCauses(
  said: string,
  found: (cause: CauseCode, weight: number, mend: Mend) => Cause[],
  isConnected: boolean,
): Cause[] {
  const report = { what: "Update the server, or tell its maintainers what it answers." };
  if (!isConnected && versionHint.test(said)) {
    return found("wrong-era", 0.95, {
      what: "Update the server: it speaks a version of the protocol that is not known here.",
    });
  }
  if (credentialHint.test(said)) {
    return found("token-refused", 0.7, {
      what: "Check the credential of the entry: the server refuses it in its own words.",
    });
  }
  return found("answer-invalid", 0.8, report);
}

function redirectMend(facts: WalkFacts, answer: AnswerFacts | undefined): Mend {
  const what = "If that is the server you mean, write its url into the entry: headers are never taken along.";
  const isSafe = answer?.location !== undefined && /^(https|wss):/.test(answer.location);
  return mendField(facts, "url", what, isSafe ? `"url": "${answer.location}"` : undefined);
}
