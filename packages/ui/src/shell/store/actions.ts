import {
  type ExplainResponse,
  type GetApprovalResponse,
  readAdminError,
  type SignInPrompt,
  type SignInStep,
  type SignOutResponse,
} from "@wirescope/gateway/admin";
import { admin, putServer } from "./servers.js";

/** Callbacks for the progress of a sign-in. */
export interface SignInProgress {
  readonly onPrompt: (prompt: SignInPrompt) => void;
  readonly onWaiting: (message: string) => void;
  /** A step of the OAuth flow has ended. */
  readonly onStep?: (step: SignInStep) => void;
}

export interface SignInChoices {
  readonly confirmedIssuer?: string;
  readonly confirmedOrigin?: string;
}

/**
 * The actions on servers. Each rejects with a ConnectError that has the same message as in the command line. A failed reconnect does not
 * reject: the server's own failure reports it.
 */
export const actions = {
  /** Signs in. Aborting the signal cancels the sign-in, unless others wait for it. */
  async signIn(server: string, progress: SignInProgress, choices: SignInChoices, signal: AbortSignal): Promise<void> {
    const request = { server, ...choices, returnPath: location.pathname, withSteps: progress.onStep !== undefined };
    for await (const { event } of admin.signIn(request, { signal })) {
      if (event.case === "step") progress.onStep?.(event.value);
      if (event.case === "prompt") progress.onPrompt(event.value);
      if (event.case === "waiting") progress.onWaiting(event.value.message);
      if (event.case === "done" && event.value.server !== undefined) putServer(event.value.server);
    }
  },

  async completeSignIn(signInId: string, pastedAddress: string): Promise<void> {
    await admin.completeSignIn({ signInId, address: pastedAddress });
  },

  signOut(server: string): Promise<SignOutResponse> {
    return admin.signOut({ server });
  },

  async reconnect(server: string): Promise<void> {
    const response = await admin.reconnect({ server });
    if (response.server !== undefined) putServer(response.server);
  },

  approval(server: string): Promise<GetApprovalResponse> {
    return admin.getApproval({ server });
  },

  async approve(server: string, fingerprint: string): Promise<void> {
    const response = await admin.approve({ server, fingerprint });
    if (response.server !== undefined) putServer(response.server);
  },

  /** Yields each step of a diagnosis when it is done, then the explanation. */
  explain(server: string, signal: AbortSignal): AsyncIterable<ExplainResponse> {
    return admin.explain({ server }, { signal });
  },

  async reload(): Promise<void> {
    await admin.reload({});
  },
};

/** The failure of an action, with its code from docs/errors.md; undefined if it has none. */
export function failureOf(error: unknown): ReturnType<typeof readAdminError>["failure"] {
  return readAdminError(error).failure;
}
