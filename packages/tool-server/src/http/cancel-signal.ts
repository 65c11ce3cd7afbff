/**
 * Much of an AbortSignal, which is one of these: enough to give up what waits for a socket. To make an AbortSignal for every
 * request, and to listen to it, cost more than to write the request.
 */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: "abort", listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
