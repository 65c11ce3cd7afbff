export { formatAddress, matchPath, parseAddress } from "./address.js";
export { Link } from "./link.js";
export { address, navigate, openPanel, setQuery } from "./router.js";
export type { ViewProps } from "./view.js";
