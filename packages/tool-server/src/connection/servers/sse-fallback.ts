import { ToolServerError } from "../../errors.js";

/** Chooses between Streamable HTTP and its predecessor for a URL whose entry does not name the transport. */
export interface SseFallback {
  /** The transport to try next, or the one that works. */
  readonly type: "http" | "sse";
  /** Whether the other transport is worth a try after this failure. If that one failed as well, throws the first failure. */
  afterFailure(failure: unknown): boolean;
}

/** Starts with Streamable HTTP. A transport that worked is used until it fails. `report` receives a sentence when SSE is tried. */
export function createSseFallback(report: (text: string) => void): SseFallback {
  let first: unknown;
  return {
    get type() {
      return first === undefined ? "http" : "sse";
    },
    afterFailure(failure) {
      if (first !== undefined) {
        // The first failure is the one to report: it is about the transport that servers should have.
        const earlier = first;
        first = undefined;
        throw earlier;
      }
      if (!isOlderServer(failure)) return false;
      first = failure;
      report("The server refused Streamable HTTP, so HTTP with SSE is tried.");
      return true;
    },
  };
}

/** Whether a server rejects Streamable HTTP like servers that only support the older transport. */
function isOlderServer(failure: unknown): boolean {
  return ToolServerError.is(failure) && [400, 404, 405].includes(failure.details.status ?? 0);
}
