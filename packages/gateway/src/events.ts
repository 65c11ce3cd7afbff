import type { RequestId } from "@wirescope/tool-server/internal";

/** Who called, as far as it is known. */
export interface CallerFacts {
  /** What the client calls itself: name and version. Not proven. */
  readonly client: string;
  /** The session, shortened: enough to tell sessions apart, too little to use one. */
  readonly session: string | undefined;
}

/** What happens in a gateway, for a log or an audit. Holds no secret, and no arguments unless they were asked for. */
export type GatewayEvent =
  | ({
      readonly kind: "call";
      readonly id: RequestId;
      readonly method: string;
      /** The server behind that it went to. */
      readonly server: string | undefined;
      /** The tool, prompt or uri, as the server knows it. */
      readonly name: string | undefined;
      /** `tool-error`: the tool ran and says that it failed. `input`: it waits for the client. */
      readonly outcome: "ok" | "tool-error" | "error" | "cancelled" | "input";
      /** Why it failed. */
      readonly reason: string | undefined;
      readonly durationMs: number;
      readonly arguments?: unknown;
    } & CallerFacts)
  | ({ readonly kind: "session-opened" | "session-closed"; readonly reason: string } & CallerFacts)
  | {
      readonly kind: "server-state";
      readonly server: string;
      readonly state: string;
      readonly reason: string | undefined;
    }
  | { readonly kind: "left-out"; readonly server: string; readonly list: string; readonly reason: string }
  /** A person was asked to sign in, because a call needs it. */
  | { readonly kind: "sign-in"; readonly server: string; readonly reason: string }
  | { readonly kind: "refused"; readonly limit: string; readonly reason: string }
  | {
      readonly kind: "reloaded";
      readonly added: readonly string[];
      readonly removed: readonly string[];
      readonly changed: readonly string[];
    }
  /** Certificates or authorities of its TLS that changed count from now on. */
  | { readonly kind: "certificates"; readonly files: readonly string[]; readonly reason: string }
  | { readonly kind: "defect"; readonly reason: string };

/** Hears what happens. What it throws is ignored. */
export type GatewayListener = (event: GatewayEvent) => void;

/** Tells a listener, whatever it does. */
export interface Teller {
  (event: GatewayEvent): void;
  /** Whether there is a listener: what nobody hears need not be put into words. */
  readonly isHeard: boolean;
}

export function createTeller(listener: GatewayListener | undefined): Teller {
  const tell = (event: GatewayEvent): void => {
    try {
      listener?.(event);
    } catch {
      // Who watches must not disturb what is watched.
    }
  };
  return Object.assign(tell, { isHeard: listener !== undefined });
}
