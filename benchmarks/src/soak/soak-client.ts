import type { Era, MarkArguments } from "./marking-server.js";

/** A client of the gateway, as the soak uses one. */
export interface SoakClient {
  readonly era: Era;
  /** Its session id, if its era has sessions. */
  readonly session: string | undefined;
  /** Calls a tool. */
  call(tool: string, args: MarkArguments, hooks: CallHooks): RunningCall;
  /** The names of all tools. */
  list(): Promise<readonly string[]>;
  /** Says good-bye, as its era has it. */
  close(): Promise<void>;
  /** Goes without a word: all its connections break. */
  vanish(): void;
}

/** What a client hears in the middle of a call. */
export interface CallHooks {
  onProgress(message: string): void;
  /** A question of the server; returns the reply. */
  onQuestion(message: string): string;
}

export interface RunningCall {
  /** The text of the result; undefined if the call was cancelled. Rejects with a CallFailure. */
  readonly result: Promise<string | undefined>;
  cancel(): void;
}

/** Why a call has no result. */
export class CallFailure extends Error {
  override readonly name = "CallFailure";
}

export interface SoakClientOptions {
  readonly endpoint: string;
  readonly token: string;
  /** What it calls itself: the gateway counts the newer era's requests by that. */
  readonly name: string;
  readonly era: Era;
  /** Whether it keeps a stream open on which it hears of changes. */
  readonly isListening: boolean;
}
