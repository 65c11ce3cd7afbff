import type { Cause, CauseCode, Fix } from "../../causes/cause-table.js";
import { fixByBridge, fixByCommand, fixField } from "../../causes/fixes.js";
import { states } from "../../causes/peer-text.js";
import { describeResponse, type ResponseEvidence } from "../../causes/refusal-evidence.js";
import { parseUrl } from "../../url.js";
import type { AttemptEvidence, WalkEvidence } from "../evidence.js";

/** Why the peer is not a usable tool server. A refusal of the credential has its own causes. */
export function responseCauses(seen: WalkEvidence): Cause[] {
  const { attempt, type } = seen;
  if (attempt?.failure === undefined || attempt.refusal !== undefined || type === "stdio") return [];
  return [...alternativeCauses(seen), ...statusCauses(seen, attempt), ...failureCauses(seen, attempt)];
}

function alternativeCauses(seen: WalkEvidence): Cause[] {
  const { alternative, type } = seen;
  if (alternative === undefined) return [];
  const isSamePath =
    alternative.type !== type &&
    seen.attempt?.response?.path === (parseUrl(alternative.url)?.pathname ?? alternative.url);
  const typeField = `"type": "${alternative.type}"`;
  const write = [...(alternative.type === type ? [] : [typeField]), `"url": "${alternative.url}"`].join(", ");
  const problem = isSamePath
    ? `The server at this url has the type ${alternative.type}, but the entry says ${type}.`
    : `There is no tool server at the path of the url, but there is one at ${alternative.url}.`;
  const fix = fixField(seen, isSamePath ? "entry" : "url", "Change the entry.", isSamePath ? typeField : write);
  const evidence = [`At ${alternative.url}, ${alternative.evidence}.`];
  return [{ code: isSamePath ? "wrong-type" : "wrong-path", weight: 1, problem, evidence, fix }];
}

/** Causes that the status and the format of the response show. */
function statusCauses(seen: WalkEvidence, { failure, response }: AttemptEvidence): Cause[] {
  const status = failure?.status ?? response?.status;
  if (failure === undefined || status === undefined) return [];
  const evidence = response === undefined ? [`The server returned ${status}.`] : describeResponse(response);
  const found = (code: CauseCode, weight: number, fix: Fix): Cause[] => [
    { code, weight, problem: failure.message, evidence, fix },
  ];
  if (status >= 300 && status < 400) return found("redirected", 0.95, fixRedirect(seen, response));
  if (status === 429) {
    const wait = response?.retryAfter === undefined ? "" : ` The server sent Retry-After: ${response.retryAfter}.`;
    return found("rate-limited", 0.95, fixByCommand(seen, ["ping"], `Try again later.${wait}`));
  }
  // Most servers send an HTML page with a 5xx status, so the page says nothing more.
  if (status >= 500 && status !== 501)
    return found("server-failing", 0.95, fixByCommand(seen, ["ping"], "Try again later, or check the server's log."));
  if (status >= 200 && status < 300) return foreignCauses(seen, found, response, failure.code);
  const url = (advice: string): Fix => fixField(seen, "url", advice);
  if (status === 404 || status === 410) {
    return found("not-found", 0.9, url("Correct the path of the url. Many servers use /mcp, older ones /sse."));
  }
  if (status === 405 || status === 406 || status === 415 || status === 426 || status === 501) {
    const hint = status === 426 ? 'A WebSocket server has the type "ws"' : 'A legacy server has the type "sse"';
    return found("method-refused", 0.9, url(`Correct the path or the type. ${hint}.`));
  }
  return found("not-the-protocol", 0.7, url("Check that the url is the url of the tool server."));
}

/** A success status, but not a response of the protocol. */
function foreignCauses(
  seen: WalkEvidence,
  found: (code: CauseCode, weight: number, fix: Fix) => Cause[],
  response: ResponseEvidence | undefined,
  code: string,
): Cause[] {
  if (code !== "NOT_A_TOOL_SERVER" || response === undefined) return [];
  const check = fixField(seen, "url", "Open the url in a browser and correct it: this is not a tool server.");
  if (response.title !== undefined || response.mediaType === "text/html") {
    const isSignIn = states(`${response.title} ${response.excerpt}`, "sign-in-asked");
    const advice =
      "A sign-in page is in front of the server. Open the url in a browser, and ask its operator how programs can get past it.";
    return found("html-page", 0.9, isSignIn ? { ...check, advice } : check);
  }
  const isKnownType = response.mediaType === "application/json" || response.mediaType === "text/event-stream";
  return found(isKnownType ? "not-the-protocol" : "content-type-wrong", 0.9, check);
}

/** Causes that the error code shows, if no status does. */
function failureCauses(seen: WalkEvidence, { failure, connected }: AttemptEvidence): Cause[] {
  if (failure === undefined) return [];
  const { code, message, said = "", needsClientCertificate } = failure;
  const evidence = connected === undefined ? [] : ["The handshake succeeded."];
  const found = (cause: CauseCode, weight: number, fix: Fix): Cause[] => [
    { code: cause, weight, problem: message, evidence, fix },
  ];
  const ping = (advice: string): Fix => fixByCommand(seen, ["ping"], advice);
  switch (code) {
    case "CALL_TIMEOUT":
      return found("no-response", 0.9, ping("Check what the server is doing, or increase the timeout."));
    case "SERVER_UNREACHABLE":
      // With TLS 1.3 a server checks the client's certificate only after the handshake.
      if (needsClientCertificate) return found("client-certificate-required", 1, fixByBridge(seen));
      return found("connection-cut", 0.8, ping("Check the server's log, and the proxies in between."));
    case "CONNECTION_LOST":
    case "SESSION_LOST":
      return found("connection-cut", 0.8, ping("Check the server's log, and the proxies in between."));
    case "NOT_A_TOOL_SERVER":
      return found("not-the-protocol", 0.6, fixField(seen, "url", "Check that the url is the url of the tool server."));
    case "RESPONSE_INVALID":
    case "MESSAGE_TOO_LARGE":
    case "CALL_REFUSED":
      return protocolCauses(said, found, connected !== undefined);
    default:
      return [];
  }
}

/** Failures of the protocol itself: its version, an error response, or a defect. */
function protocolCauses(
  said: string,
  found: (code: CauseCode, weight: number, fix: Fix) => Cause[],
  isConnected: boolean,
): Cause[] {
  if (!isConnected && states(said, "version-unsupported")) {
    return found("version-unsupported", 0.95, {
      advice: "Update the server: it supports no protocol version known here.",
    });
  }
  if (states(said, "credential-rejected")) {
    return found("token-refused", 0.7, {
      advice: "Check the credential of the entry: the error response says that the server rejects it.",
    });
  }
  return found("response-invalid", 0.8, { advice: "Update the server, or report its response to its maintainers." });
}

function fixRedirect(seen: WalkEvidence, response: ResponseEvidence | undefined): Fix {
  const advice =
    "If that is the intended server, write its url into the entry. Headers are never sent along with a redirect.";
  const isSafe = response?.location !== undefined && /^(https|wss):/.test(response.location);
  return fixField(seen, "url", advice, isSafe ? `"url": "${response.location}"` : undefined);
}
