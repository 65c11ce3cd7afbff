import type { Caller } from "../clients/caller.js";

/** A call of a server that is under way. Also the mark by which what the server sends on its stream is known. */
export interface UpstreamCall {
  readonly caller: Caller;
  readonly server: string;
  readonly method: string;
  /** When the server was last heard of, in milliseconds. */
  activeAt: number;
  /** How many questions of the server the client has not answered yet: meanwhile the server need not say anything. */
  questions: number;
}
