export { formatAddress, matchPath, parseAddress } from "./address.js";
export { Link } from "./link.js";
export { address, hasNavigated, navigate, openPanel, setQuery } from "./router.js";
export type { ViewProps } from "./view.js";
