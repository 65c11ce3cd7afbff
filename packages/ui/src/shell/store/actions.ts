import {
  type ExplainResponse,
  type GetApprovalResponse,
  readAdminError,
  type SignInPrompt,
  type SignInStep,
  type SignOutResponse,
} from "@wirescope/gateway/admin";
import { admin, putServer } from "./servers.js";

/** What a sign-in reports while it runs. */
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
 * What a person can do about a server. Each rejects with a ConnectError whose message is that of the command line; a failure that
 * the gateway keeps in the server itself, such as a failed reconnect, rejects as well.
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

  /** The steps of a diagnosis when they are known, then the explanation. */
  explain(server: string, signal: AbortSignal): AsyncIterable<ExplainResponse> {
    return admin.explain({ server }, { signal });
  },

  async reload(): Promise<void> {
    await admin.reload({});
  },
};

/** The code of docs/errors.md that an action failed with; undefined if it has none. */
export function failureOf(error: unknown): ReturnType<typeof readAdminError>["failure"] {
  return readAdminError(error).failure;
}
