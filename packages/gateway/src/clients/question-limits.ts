import { RpcError, rpcCodes } from "@wirescope/tool-server/rpc";

/** How many questions of a server may be open at once in one call. */
export const mostQuestions = 32;

/** That a server asks too much at once. */
export function tooManyQuestions(): RpcError {
  const message = `${mostQuestions} questions of this call are open, which is the most there may be. Wait for answers.`;
  return new RpcError(rpcCodes.failed, message);
}

/** Why questions of a call are not asked any more once it has ended: nobody would hear the answers. */
export const callIsOver: RpcError = new RpcError(rpcCodes.failed, "The call that this is about is over.");
