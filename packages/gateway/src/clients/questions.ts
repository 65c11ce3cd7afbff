import { type JsonObject, RpcError, type RpcMessage, type RpcResponse, rpcCodes } from "@wirescope/tool-server/rpc";
import type { CallOff } from "./call-off.js";

/** Questions to a client of the older era, which answers each with a message. */
export interface Questions {
  /**
   * Sends a question; resolves with its answer. Rejects with an RpcError: the client's own, or where it does not answer in
   * time, it is called off, the signal is aborted, or `send` throws.
   */
  ask(
    method: string,
    params: JsonObject | undefined,
    callOff: CallOff,
    signal: AbortSignal | undefined,
    send: (message: RpcMessage) => void,
  ): Promise<JsonObject>;
  answered(answer: RpcResponse): void;
  close(reason: string): void;
}

interface Pending {
  resolve(result: JsonObject): void;
  reject(error: RpcError): void;
}

export function createQuestions(timeoutMs: number): Questions {
  const pending = new Map<string, Pending>();
  let last = 0;
  return {
    ask(method, params, callOff, signal, send) {
      last += 1;
      const id = `ask-${last}`;
      const giveUp = (why: string): void => {
        const question = pending.get(id);
        if (question === undefined) return;
        try {
          send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason: why } });
        } catch {
          // It is gone, and need not be told.
        }
        question.reject(new RpcError(rpcCodes.failed, why));
      };
      const onAbort = (): void => giveUp("The question is not asked any more.");
      const timer = setTimeout(() => giveUp("The client did not answer in time."), timeoutMs);
      if (!callOff.isOff) callOff.onOff(onAbort);
      const asked = new Promise<JsonObject>((resolve, reject) => {
        pending.set(id, { resolve, reject });
        if (signal?.aborted || callOff.isOff) queueMicrotask(onAbort);
        else signal?.addEventListener("abort", onAbort, { once: true });
        try {
          // What a server says to itself stays there: it would be taken as of the gateway.
          const { _meta, ...rest } = params ?? {};
          send({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params: rest }) });
        } catch (error) {
          reject(error);
        }
      });
      return asked.finally(() => {
        pending.delete(id);
        clearTimeout(timer);
        callOff.forget(onAbort);
        signal?.removeEventListener("abort", onAbort);
      });
    },
    answered({ id, result, error }) {
      const question = pending.get(String(id));
      if (error !== undefined) question?.reject(new RpcError(error.code, error.message, { data: error.data }));
      else question?.resolve(result ?? {});
    },
    close(reason) {
      for (const question of pending.values()) question.reject(new RpcError(rpcCodes.failed, reason));
    },
  };
}
