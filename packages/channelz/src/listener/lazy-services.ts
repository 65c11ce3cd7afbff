import type { GrpcUnary } from "../service/grpc-unary.js";
import type { ConnectHandler } from "./connect-handler.js";

/** The handlers for calls. */
export interface Services {
  readonly grpcUnary: GrpcUnary;
  readonly connect: ConnectHandler;
}

/** The services of a listener, loaded on the first call or soon after the start. */
export interface LazyServices {
  /** Undefined until they are loaded, and if loading failed. */
  readonly current: Services | undefined;
  /** Whether a request has to wait until they are loaded. */
  isAwaited(path: string): boolean;
  /** Loads them if necessary. Never rejects. */
  load(): Promise<void>;
  /** Cancels the delayed loading. */
  close(): void;
}

/**
 * Services are loaded even without a call, because a long-running process may outlive the installed files they are loaded from.
 * Loading blocks the event loop for about 40 ms, and V8 then discards optimized code, so it happens soon after the start, when
 * little is optimized and few requests wait.
 */
const loadAfterMs = 2000;

export function createLazyServices(create: () => Promise<Services>): LazyServices {
  let loading: Promise<void> | undefined;
  let isReported = false;
  const load = async (): Promise<void> => {
    try {
      services.current = await create();
    } catch (error) {
      // The next call tries again. The failure is reported only once, because there may be many calls.
      loading = undefined;
      if (isReported) return;
      isReported = true;
      process.emitWarning(`Cannot load the Channelz services: ${String(error)}`, {
        type: "ChannelzWarning",
        code: "SERVICES_NOT_LOADED",
      });
    }
  };
  // No getter: V8 stores an object literal with one as a hash table, and this object is used several times for each request.
  const services: { -readonly [Key in keyof LazyServices]: LazyServices[Key] } = {
    current: undefined,
    isAwaited: (path) => services.current === undefined && isServicePath(path),
    load() {
      clearTimeout(timer);
      loading ??= load();
      return loading;
    },
    close: () => clearTimeout(timer),
  };
  const timer = setTimeout(services.load, loadAfterMs).unref();
  return services;
}

/** The path of a call is `/service/method`. */
function isServicePath(path: string): boolean {
  return /^\/[^/]+\/[^/]+$/.test(path);
}
