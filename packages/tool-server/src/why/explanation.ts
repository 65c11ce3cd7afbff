import type { Cause } from "../causes/cause.js";
import type { Entry } from "../config/entry.js";

/** The steps of a walk, in order. A server has the steps of its type. */
export type StepName =
  | "configuration"
  | "variables"
  | "trust"
  | "helper"
  | "command"
  | "process"
  | "proxy"
  | "name"
  | "connection"
  | "tls"
  | "sign-in"
  | "http"
  | "credential"
  | "authorization-server"
  | "client"
  | "protocol";

/** `skipped`: not reached, or there was nothing to check. */
export type CheckOutcome = "ok" | "failed" | "skipped";

/** One step of a walk and what was observed. Contains no secret. */
export interface Step {
  readonly step: StepName;
  readonly outcome: CheckOutcome;
  readonly evidence: readonly string[];
}

/** A requirement of the protocol, or of what it builds on, and whether the server meets it. Contains no secret. */
export interface Requirement {
  readonly requirement: string;
  readonly outcome: CheckOutcome;
  readonly evidence: readonly string[];
}

/** A possible improvement, whether or not the server works. Contains no secret. */
export type Note = Omit<Cause, "weight">;

/** Why a server does not work, or that it does. Contains no secret. */
export interface Explanation {
  readonly server: string;
  /** Undefined if the entry is invalid. */
  readonly type: Entry["type"] | undefined;
  /** Whether no step failed. */
  readonly isWell: boolean;
  /** The likeliest first; none if the server works. */
  readonly causes: readonly Cause[];
  readonly notes: readonly Note[];
  readonly steps: readonly Step[];
  readonly requirements: readonly Requirement[];
  /** The permissions that the server asks for: in its challenge, its metadata, or those granted; undefined if none are named. */
  readonly permissions: readonly string[] | undefined;
}
