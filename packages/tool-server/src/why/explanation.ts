import type { Entry } from "../config/entry.js";
import type { Position } from "../config/json-with-positions.js";
import type { CauseCode } from "./cause-table.js";

/** The steps of a walk, in its order. A server has those that belong to its type. */
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

/** `skipped`: it was not come to, or there was nothing to look at. */
export type Outcome = "ok" | "failed" | "skipped";

/** One step of a walk, and what was seen there. Holds no secret. */
export interface Step {
  readonly step: StepName;
  readonly outcome: Outcome;
  readonly evidence: readonly string[];
}

/** What the protocol, or the ground that it stands on, demands of a server, and whether that is met. Holds no secret. */
export interface Demand {
  readonly demand: string;
  readonly outcome: Outcome;
  readonly evidence: readonly string[];
}

/** How to mend something: by a command, or by what to write where; else by what it says. */
export interface Mend {
  /** What to do, in a sentence or two. */
  readonly what: string;
  /** A command for a shell; `…` stands for what only the user knows. */
  readonly command?: string | undefined;
  /** The place in the configuration. */
  readonly place?: (Position & { readonly file: string }) | undefined;
  /** What to write there. */
  readonly write?: string | undefined;
  /** The variable to set. How that is done depends on the process that needs it; see `ExplainOptions.setVariable`. */
  readonly variable?: string | undefined;
}

/** One thing that may be wrong. Holds no secret. */
export interface Cause {
  readonly cause: CauseCode;
  /** How likely it is the cause: from 1, which was seen and explains all, to 0. From 0.9 on it counts as found. */
  readonly weight: number;
  /** What is wrong, in a sentence or two. */
  readonly message: string;
  readonly evidence: readonly string[];
  readonly mend: Mend;
}

/** What could be better, whether or not the server works. Holds no secret. */
export type Note = Omit<Cause, "weight">;

/** Why a server does not work, or that it does. Holds no secret. */
export interface Explanation {
  readonly server: string;
  /** Undefined where the entry cannot be understood. */
  readonly type: Entry["type"] | undefined;
  /** Whether no step failed. */
  readonly isWell: boolean;
  /** The likeliest first; none where all is well. */
  readonly causes: readonly Cause[];
  readonly notes: readonly Note[];
  readonly steps: readonly Step[];
  readonly demands: readonly Demand[];
  /**
   * The permissions that the server asks for: of its challenge, else of its metadata, else those that were granted; undefined where
   * nobody named any.
   */
  readonly permissions: readonly string[] | undefined;
}
