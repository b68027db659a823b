import packageJson from '../../package.json' with { type: 'json' }

// Where the site and its repository are. The workflow that publishes the site sets these variables. A build without
// them is for the root of any host, and has no links to the repository.

/** The path of the site, with a slash at both ends. */
export const base = `/${(process.env['SITE_BASE'] ?? '').replace(/^\/+|\/+$/g, '')}/`.replace('//', '/')

export const origin = process.env['SITE_ORIGIN']

export const repository = process.env['SITE_REPOSITORY']

export const version = packageJson.version
