import {
  type Cancellation,
  RpcError,
  type RpcMessage,
  type RpcObject,
  type RpcResponse,
  rpcCodes,
} from "@wirescope/tool-server/internal";

/** Requests to a legacy client, which responds to each with a message. */
export interface Questions {
  /**
   * Sends a question; resolves with the response. Rejects with the client's own RpcError, or with ours if it does not respond in
   * time, the call or the signal is cancelled, or `send` throws.
   */
  ask(
    method: string,
    params: RpcObject | undefined,
    call: Cancellation,
    signal: AbortSignal | undefined,
    send: (message: RpcMessage) => void,
  ): Promise<RpcObject>;
  responded(response: RpcResponse): void;
  close(reason: string): void;
}

interface Pending {
  resolve(result: RpcObject): void;
  reject(error: RpcError): void;
}

export function createQuestions(timeoutMs: number): Questions {
  const pending = new Map<string, Pending>();
  let last = 0;
  return {
    ask(method, params, call, signal, send) {
      last += 1;
      const id = `ask-${last}`;
      const giveUp = (why: string): void => {
        const question = pending.get(id);
        if (question === undefined) return;
        try {
          send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: why } });
        } catch {
          // The client has disconnected.
        }
        question.reject(new RpcError(rpcCodes.failed, why));
      };
      const onAbort = (): void => giveUp("The question was cancelled.");
      const timer = setTimeout(() => giveUp("The client did not respond in time."), timeoutMs);
      call.addEventListener("abort", onAbort);
      const asked = new Promise<RpcObject>((resolve, reject) => {
        pending.set(id, { resolve, reject });
        if (signal?.aborted || call.aborted) queueMicrotask(onAbort);
        else signal?.addEventListener("abort", onAbort, { once: true });
        try {
          send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) });
        } catch (error) {
          reject(error);
        }
      });
      return asked.finally(() => {
        pending.delete(id);
        clearTimeout(timer);
        call.removeEventListener("abort", onAbort);
        signal?.removeEventListener("abort", onAbort);
      });
    },
    responded({ id, result, error }) {
      const question = pending.get(String(id));
      if (error !== undefined) question?.reject(new RpcError(error.code, error.message, { data: error.data }));
      else question?.resolve(result ?? {});
    },
    close(reason) {
      for (const question of pending.values()) question.reject(new RpcError(rpcCodes.failed, reason));
    },
  };
}
