import {
  type Cancellation,
  RpcError,
  type RpcMessage,
  type RpcObject,
  type RpcResponse,
  rpcCodes,
} from "@wirescope/tool-server/internal";

/** Requests that the gateway sends to a legacy client. */
export interface OutgoingRequests {
  /**
   * Sends a request; resolves with the response. Rejects with the client's own RpcError, or with ours if it does not respond in
   * time, `during` is cancelled, the signal aborts, or `write` throws.
   */
  send(
    method: string,
    params: RpcObject | undefined,
    during: Cancellation,
    signal: AbortSignal | undefined,
    write: (message: RpcMessage) => void,
  ): Promise<RpcObject>;
  responded(response: RpcResponse): void;
  close(reason: string): void;
}

interface Pending {
  resolve(result: RpcObject): void;
  reject(error: RpcError): void;
}

export function createOutgoingRequests(timeoutMs: number): OutgoingRequests {
  const pending = new Map<string, Pending>();
  let last = 0;
  return {
    send(method, params, during, signal, write) {
      last += 1;
      const id = `ask-${last}`;
      const cancel = (why: string): void => {
        const request = pending.get(id);
        if (request === undefined) return;
        try {
          write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: why } });
        } catch {
          // The client has disconnected.
        }
        request.reject(new RpcError(rpcCodes.failed, why));
      };
      const onAbort = (): void => cancel("The request was cancelled.");
      const timer = setTimeout(() => cancel("The client did not respond in time."), timeoutMs);
      during.addEventListener("abort", onAbort);
      const response = new Promise<RpcObject>((resolve, reject) => {
        pending.set(id, { resolve, reject });
        if (signal?.aborted || during.aborted) queueMicrotask(onAbort);
        else signal?.addEventListener("abort", onAbort, { once: true });
        try {
          write({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
        } catch (error) {
          reject(error);
        }
      });
      return response.finally(() => {
        pending.delete(id);
        clearTimeout(timer);
        during.removeEventListener("abort", onAbort);
        signal?.removeEventListener("abort", onAbort);
      });
    },
    responded({ id, result, error }) {
      const request = pending.get(String(id));
      if (error !== undefined) request?.reject(new RpcError(error.code, error.message, { data: error.data }));
      else request?.resolve(result ?? {});
    },
    close(reason) {
      for (const request of pending.values()) request.reject(new RpcError(rpcCodes.failed, reason));
    },
  };
}
