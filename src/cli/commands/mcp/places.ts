import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'

export type Scope = 'user' | 'project'
export const SCOPES: readonly Scope[] = ['user', 'project']

/** The machine and folder that settings are looked up in. */
export interface Place {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  readonly cwd: string
  /** Whether a file exists, for clients that accept one of several names. */
  exists(path: string): boolean
}

export interface SettingsLocation {
  readonly file: string
  /** The folder that the file must be in, after symbolic links were followed. */
  readonly root: string
}

type Locate = (place: Place) => SettingsLocation

export function inHome(...names: string[]): Locate {
  return (place) => ({ file: join(homeOf(place), ...names), root: homeOf(place) })
}

export function inProject(...names: string[]): Locate {
  return ({ cwd }) => ({ file: join(cwd, ...names), root: cwd })
}

/** In the folder that a variable names, if it is set. */
export function inFolderOf(variable: string, otherwise: Locate, ...names: string[]): Locate {
  return (place) => {
    const given = place.env[variable]
    if (given === undefined || given === '') return otherwise(place)
    const root = resolve(place.cwd, given)
    return { file: join(root, ...names), root }
  }
}

/** In the folder for settings of XDG, on every system. */
export function inXdg(...names: string[]): Locate {
  return (place) => {
    const inDefault = inHome('.config', ...names)
    const isSet = isAbsolute(place.env.XDG_CONFIG_HOME ?? '')
    return isSet ? inFolderOf('XDG_CONFIG_HOME', inDefault, ...names)(place) : inDefault(place)
  }
}

/** In the folder of the system for settings of applications. */
export function inAppData(...names: string[]): Locate {
  return (place) => {
    if (place.platform === 'darwin') return inHome('Library', 'Application Support', ...names)(place)
    if (place.platform === 'win32')
      return inFolderOf('APPDATA', inHome('AppData', 'Roaming', ...names), ...names)(place)
    return inXdg(...names)(place)
  }
}

/** On macOS Zed uses ~/.config and ignores XDG_CONFIG_HOME. */
export function inZedFolder(name: string): Locate {
  return (place) => {
    if (place.platform === 'win32') return inAppData('Zed', name)(place)
    return place.platform === 'darwin' ? inHome('.config', 'zed', name)(place) : inXdg('zed', name)(place)
  }
}

/** The first of these files that exists, or else the first. */
export function firstOf(first: Locate, ...others: readonly Locate[]): Locate {
  return (place) => {
    const locations = [first, ...others].map((locate) => locate(place))
    return locations.find(({ file }) => place.exists(file)) ?? first(place)
  }
}

function homeOf({ env, platform }: Place): string {
  return (platform === 'win32' ? env.USERPROFILE : env.HOME) || homedir()
}
